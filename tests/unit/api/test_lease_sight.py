"""On a shared server, leases are kept, given back and told of as the team that was decided about has them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.domain.policy import Question
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.api.deciding import People, Scripted, decided
from tests.unit.api.scene import Scene, play


def own(question: Question) -> bool:
    return question.on.owner == question.who.user


def all_but_hush(question: Question) -> bool:
    return question.on.team != "hush"


def everything(_: Question) -> bool:
    return True


class Hushed(People):
    """There is another team of the same person in the same repository."""

    def __init__(self) -> None:
        super().__init__()
        self.owners["hush"] = self.owners["shop"]


async def hold(scene: Scene, query: str, pattern: str) -> dict[str, Any]:
    reply = await scene.ask("POST", f"/v1/leases?{query}", {"patterns": [pattern]})
    assert reply.status == 200, reply.body
    answer: dict[str, Any] = reply.json
    return answer


async def lock(scene: Scene, query: str) -> str:
    reply = await scene.ask("POST", f"/v1/locks?{query}", {"name": "deploy", "ttl": 600})
    assert reply.status == 200, reply.body
    return str(reply.json["lease"])


async def hush(scene: Scene) -> None:
    """Start that team."""
    await scene.registry.commit(
        PERSON,
        teams=[replace(TEAM, name="hush", file="/x/h/corral.toml")],
        agents=[replace(AGENT, team="hush", name="quiet")],
    )


@pytest.mark.parametrize("verb", ["renew", "release"])
class TestKeepingAndGivingBack:
    @pytest.mark.parametrize("body", [{}, {"token": 999}])
    def test_a_lease_of_another_team_is_as_one_that_there_is_not(
        self, tmp_path: Path, verb: str, body: dict[str, int]
    ) -> None:
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            theirs, mine = await lock(scene, "team=toys&agent=z"), await lock(scene, "team=shop&agent=a")
            await scene.ask("POST", f"/v1/leases/{mine}/release?team=shop&agent=a", {})
            policy.allows = own
            gone = await scene.ask("POST", f"/v1/leases/{mine}/{verb}?team=shop", body)
            reply = await scene.ask("POST", f"/v1/leases/{theirs}/{verb}?team=shop", body)
            assert reply.status == gone.status == 404
            assert reply.body.decode() == gone.body.decode().replace(mine, theirs)

        decided(tmp_path, policy, act)

    def test_also_if_it_is_held_by_who_asks(self, tmp_path: Path, verb: str) -> None:
        """It was decided about the team that is named, and about no other."""
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            lease = await lock(scene, "team=toys")
            assert (await scene.ask("POST", f"/v1/leases/{lease}/{verb}?team=shop", {})).status == 404
            assert (await scene.ask("POST", f"/v1/leases/{lease}/{verb}?team=toys", {})).status == 200

        decided(tmp_path, policy, act)

    def test_leases_and_locks_of_the_team_are_the_teams(self, tmp_path: Path, verb: str) -> None:
        async def act(scene: Scene) -> None:
            for lease in (await lock(scene, "team=shop"), (await hold(scene, "team=shop", "src/"))["lease"]):
                assert (await scene.ask("POST", f"/v1/leases/{lease}/{verb}?team=shop", {})).status == 200

        decided(tmp_path, Scripted(everything), act)

    def test_who_holds_what_may_be_seen_is_named(self, tmp_path: Path, verb: str) -> None:
        async def act(scene: Scene) -> None:
            lease = await lock(scene, "team=shop&agent=a")
            reply = await scene.ask("POST", f"/v1/leases/{lease}/{verb}?team=shop&agent=b", {})
            assert (reply.status, reply.error["holder"]) == (409, "shop/a")

        decided(tmp_path, Scripted(everything), act)

    def test_what_somebody_unseen_holds_in_the_same_repository_is_not_there(self, tmp_path: Path, verb: str) -> None:
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            await hush(scene)
            lease = (await hold(scene, "team=hush&agent=quiet", "plan.md"))["lease"]
            policy.allows = all_but_hush
            reply = await scene.ask("POST", f"/v1/leases/{lease}/{verb}?team=shop&agent=a", {})
            assert reply.status == 404
            assert b"hush" not in reply.body

        decided(tmp_path, policy, act, Hushed())

    def test_whose_it_is_counts_before_its_token(self, tmp_path: Path, verb: str) -> None:
        """So nobody can try tokens of what is somebody else's."""

        async def act(scene: Scene) -> None:
            mine = await hold(scene, "team=shop&agent=a", "src/")
            replies = [
                await scene.ask("POST", f"/v1/leases/{mine['lease']}/{verb}?team=shop&agent=b", {"token": token})
                for token in (mine["token"], mine["token"] + 1)
            ]
            assert [reply.error["holder"] for reply in replies] == ["shop/a", "shop/a"]
            assert replies[0].body == replies[1].body

        play(tmp_path, act)

    def test_of_one_person_it_does_not_matter_which_team_is_around(self, tmp_path: Path, verb: str) -> None:
        async def act(scene: Scene) -> None:
            lease = await lock(scene, "team=toys")
            assert (await scene.ask("POST", f"/v1/leases/{lease}/{verb}?team=shop", {})).status == 200

        play(tmp_path, act)


class TestTelling:
    def test_leases_of_a_team_that_may_not_be_seen_are_left_out(self, tmp_path: Path) -> None:
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            await hush(scene)
            await hold(scene, "team=hush&agent=quiet", "merger/plan.md")
            seen = [await hold(scene, "team=shop&agent=b", "src/"), await hold(scene, "team=shop", "docs/")]
            assert len((await scene.ask("GET", "/v1/leases?team=shop")).json["leases"]) == 3
            policy.allows = all_but_hush
            told = (await scene.ask("GET", "/v1/leases?team=shop&agent=a")).json["leases"]
            assert [one["lease"] for one in told] == [one["lease"] for one in seen]

        decided(tmp_path, policy, act, Hushed())

    def test_leases_of_a_team_whose_agreements_one_may_not_follow_are_left_out(self, tmp_path: Path) -> None:
        """Many may know that others work, and not what they work on."""
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            await hush(scene)
            await hold(scene, "team=hush&agent=quiet", "merger/plan.md")
            policy.allows = lambda question: question.verb == "list_agents" or all_but_hush(question)
            assert (await scene.ask("GET", "/v1/leases?team=shop")).json["leases"] == []

        decided(tmp_path, policy, act, Hushed())

    def test_locks_of_a_hidden_agent_are_left_out(self, tmp_path: Path) -> None:
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            await lock(scene, "team=shop&agent=b")
            policy.allows = lambda question: question.on.agent != "b"
            assert (await scene.ask("GET", "/v1/locks?team=shop")).json["leases"] == []

        decided(tmp_path, policy, act)

    def test_who_had_to_do_with_a_file_names_nobody_who_may_not_be_seen(self, tmp_path: Path) -> None:
        policy = Scripted(everything)

        async def act(scene: Scene) -> None:
            await hush(scene)
            before = await hold(scene, "team=hush&agent=quiet", "merger/plan.md")
            await scene.ask("POST", f"/v1/leases/{before['lease']}/release?team=hush&agent=quiet", {})
            await hold(scene, "team=hush&agent=quiet", "merger/plan.md")
            question = "/v1/who?team=shop&path=merger/plan.md"
            assert b"hush/quiet" in (await scene.ask("GET", question)).body
            policy.allows = all_but_hush
            reply = await scene.ask("GET", question)
            assert b"hush" not in reply.body
            assert b"quiet" not in reply.body

        decided(tmp_path, policy, act, Hushed())

    def test_of_one_person_all_leases_of_the_repository_are_told(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            await hush(scene)
            held = await hold(scene, "team=hush&agent=quiet", "merger/plan.md")
            assert (await scene.ask("GET", "/v1/leases?team=shop")).json["leases"] == [held]
            assert b"hush/quiet" in (await scene.ask("GET", "/v1/who?team=shop&path=merger/plan.md")).body

        play(tmp_path, act)
