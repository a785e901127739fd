"""What hooks ask about, on a shared server: what one may not see is answered, word for word, as what there is not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.domain.policy import Question
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.scene import Reply, Scene
from tests.unit.api.test_authorising import own, own_alone, own_team

ABOUT_TO_WRITE = json.dumps(
    {"session_id": "s", "cwd": "/y", "tool_name": "Write", "tool_input": {"file_path": "/y/a.py"}}
).encode()


def everything(_: Question) -> bool:
    return True


async def check(scene: Scene, query: str, agent: str = "") -> Reply:
    return await scene.ask("POST", f"/v1/writes/check?{query}", b"a.py\0", agent=agent)


async def hear(scene: Scene, team: str, name: str, agent: str = "") -> Reply:
    query = f"event=PreToolUse&team={team}&agent={name}"
    return await scene.ask("POST", f"/v1/hooks/claude?{query}", ABOUT_TO_WRITE, agent=agent)


async def all_of_toys_is_held(scene: Scene, policy: Scripted) -> None:
    """So that whoever is answered from that team is refused."""
    allows, policy.allows = policy.allows, everything
    held = await scene.ask("POST", "/v1/leases?team=toys&agent=z", {"patterns": ["**"]})
    assert held.status == 200, held.body
    policy.allows = allows
    policy.asked.clear()


@pytest.mark.parametrize("agent", ["", "shop/a"])
@pytest.mark.parametrize(
    "query", ["team={}", "team={}&agent=z", "team={}&agent=nobody", "team={}&cwd=/y", "team={}&run=1"]
)
def test_writes_in_a_team_that_is_unseen_are_checked_as_in_one_that_is_not_up(
    tmp_path: Path, agent: str, query: str
) -> None:
    policy = Scripted(own_team if agent else own_alone)

    async def act(scene: Scene) -> None:
        await all_of_toys_is_held(scene, policy)
        unseen = await check(scene, query.format("toys"), agent)
        missing = await check(scene, query.format("tays"), agent)
        assert (unseen.status, unseen.body) == (missing.status, missing.body)
        assert unseen.json == {"allowed": True, "refused": []}

    decided(tmp_path, policy, act)
    assert {on.team for on in policy.about("check_writes")} == {"shop" if agent else ""}


def test_writes_of_an_agent_that_is_unseen_in_a_team_that_is_seen_are_those_of_one_that_is_not_there(
    tmp_path: Path,
) -> None:
    policy = Scripted(lambda question: question.on.agent != "b")

    async def act(scene: Scene) -> None:
        unseen, missing = await check(scene, "team=shop&agent=b"), await check(scene, "team=shop&agent=c")
        assert (unseen.status, missing.status) == (404, 404)
        assert unseen.body == missing.body.replace(b"agent c", b"agent b").replace(b"shop/c", b"shop/b")

    decided(tmp_path, policy, act)


def test_writes_in_a_team_that_is_seen_are_checked_there_or_denied(tmp_path: Path) -> None:
    policy = Scripted(own)

    async def act(scene: Scene) -> None:
        await all_of_toys_is_held(scene, policy)
        assert (await check(scene, "team=toys")).error["rule"] == "no"
        policy.allows = everything
        assert not (await check(scene, "team=toys")).json["allowed"]

    decided(tmp_path, policy, act)


def test_the_hook_of_an_agent_that_is_unseen_is_heard_as_that_of_none(tmp_path: Path) -> None:
    policy = Scripted(own_alone)

    async def act(scene: Scene) -> None:
        unseen = await hear(scene, "toys", "z")
        for team, name in (("toys", "nobody"), ("tays", "z"), ("", "")):
            missing = await hear(scene, team, name)
            assert (unseen.status, unseen.body) == (missing.status, missing.body) == (200, missing.body)

    decided(tmp_path, policy, act)
    assert {(on.kind, on.team, on.agent) for on in policy.about("hear_hook")} == {("person", "", "")}


def test_the_hook_of_an_agent_that_is_seen_is_the_agents_or_denied(tmp_path: Path) -> None:
    policy = Scripted(own)

    async def act(scene: Scene) -> None:
        assert (await hear(scene, "toys", "z")).error["rule"] == "no"
        assert (await hear(scene, "shop", "a")).status == 200

    notes = decided(tmp_path, policy, act)
    assert {(note.on.team, note.on.agent, note.allowed) for note in notes} == {
        ("toys", "z", False),
        ("shop", "a", True),
    }


@pytest.mark.parametrize("allows", [own_team, everything])
def test_an_agent_whose_hook_names_another_is_told_that_it_is_not_that_one(
    tmp_path: Path, allows: Callable[[Question], bool]
) -> None:
    """Whether it sees that one, whether it may speak for it, and whether there is such a one."""
    policy = Scripted(allows)

    async def act(scene: Scene) -> None:
        for team, name in (("toys", "z"), ("toys", "nobody"), ("tays", "z"), ("shop", "b"), ("shop", "nobody")):
            reply = await hear(scene, team, name, agent="shop/a")
            assert (reply.status, reply.error) == (
                403,
                {"code": "denied", "message": f"shop/a is not {team}/{name}", "remedy": "", "rule": "not_itself"},
            )
        assert (await hear(scene, "shop", "a", agent="shop/a")).status == 200

    decided(tmp_path, policy, act)
    assert {(on.team, on.agent) for on in policy.about("hear_hook")} == {("shop", "a")}
