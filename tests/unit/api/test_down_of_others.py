"""`down` on a shared server: of a team at rest, everybody deals with what is in their own room and hears of that."""

import json
from pathlib import Path
from typing import Any

import pytest

from corral.domain.merge_queue import MergeQueue
from corral.domain.merge_records import Merge
from corral.domain.records import Who
from corral.ports.workspace import WorkspaceRemoval
from corral.service.team_names import taken
from tests.unit.api.deciding import ME, Scripted, decided
from tests.unit.api.scene import Scene
from tests.unit.api.test_authorising import own_alone


def in_my_room(scene: Scene, monkeypatch: pytest.MonkeyPatch, *paths: str) -> None:
    """A shared server, where these are the worktrees that I have of whatever team. There is work in them."""

    async def inspect(_: str) -> list[WorkspaceRemoval]:
        return [WorkspaceRemoval(path=path, removed=False, why="not merged") for path in paths]

    async def remove(*, path: str, **_: object) -> WorkspaceRemoval:
        return WorkspaceRemoval(path=path, removed=False, why="not merged")

    async def none(*_: object) -> list[object]:
        return []

    monkeypatch.setattr(scene.services.supervisor.keepers, "shared", True)
    for name, does in {
        "inspect_workspaces": inspect,
        "remove_workspace": remove,
        "bystanders": none,
        "census": none,
    }.items():
        monkeypatch.setattr(scene.keeper, name, does, raising=False)


async def at_rest(scene: Scene, owner: str) -> None:
    """A team `rocket` was up, and a merge of it waits."""
    who = Who(user=owner, uid=7)

    def submit(queue: MergeQueue, revision: int, now: float) -> list[Merge]:
        merge = Merge(
            number=revision,
            team="rocket",
            branch="secret",
            tip="a" * 40,
            subject="s",
            target="main",
            repository="/r",
            agent="",
            person=owner,
            uid=7,
            run="",
            tokens=(),
            place=revision,
            revision=revision,
            submitted_at=now,
            changed_at=now,
        )
        queue.submit(merge)
        return [merge]

    await scene.registry.commit(who, put_items=taken("rocket", owner))
    await scene.services.merges._book.decide("rocket", submit, "merge.submitted", who=who)


async def down(scene: Scene, team: str) -> Any:
    """The last line of the answer."""
    reply = await scene.ask("POST", "/v1/down", {"team": team, "cwd": "/"})
    assert reply.status == 200, reply.body
    (line,) = (line for line in reply.body.splitlines() if line.startswith((b'{"result', b'{"error')))
    return json.loads(line)


async def downs(scene: Scene) -> list[tuple[str, str]]:
    return [(event.team, event.who.user) for event in await scene.store.events() if event.event == "team.down"]


def test_what_i_have_of_anothers_team_at_rest_is_all_that_i_am_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(scene: Scene) -> None:
        await at_rest(scene, "ann")
        in_my_room(scene, monkeypatch, "/mine/rocket/x")
        freed: list[str] = []

        async def free(_: Who, team: str) -> list[object]:
            freed.append(team)
            return []

        monkeypatch.setattr(scene.services.ports, "free", free)
        receipt = (await down(scene, "rocket"))["result"]
        assert [kept["path"] for kept in receipt["kept"]] == ["/mine/rocket/x"]
        assert (receipt["waiting"]["merges"], receipt["merges"]) == (0, [])
        assert freed == []
        # Ann reads the journal of her team: nothing was done to it.
        assert await downs(scene) == []

    decided(tmp_path, Scripted(own_alone), act)


def test_anothers_team_at_rest_of_which_i_have_nothing_is_one_that_there_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(scene: Scene) -> None:
        await at_rest(scene, "ann")
        in_my_room(scene, monkeypatch)
        unseen, missing = await down(scene, "rocket"), await down(scene, "racket")
        assert unseen["error"]["code"] == "not_found"
        assert json.dumps(unseen) == json.dumps(missing).replace("racket", "rocket")
        assert await downs(scene) == []

    decided(tmp_path, Scripted(own_alone), act)


@pytest.mark.parametrize("owner", [ME, ""])
def test_of_my_own_team_at_rest_i_am_told_which_merges_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    """Also of one whose name is nobody's."""

    async def act(scene: Scene) -> None:
        await at_rest(scene, owner)
        in_my_room(scene, monkeypatch, "/mine/rocket/x")
        receipt = (await down(scene, "rocket"))["result"]
        assert receipt["waiting"]["merges"] == 1
        assert [merge.endswith("(secret)") for merge in receipt["merges"]] == [True]
        assert await downs(scene) == [("rocket", ME)]

    decided(tmp_path, Scripted(own_alone), act)


@pytest.mark.parametrize("name", ["No Such!", "../toys", "-"])
def test_the_answer_to_a_name_that_no_team_can_have_names_only_teams_that_i_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async def act(scene: Scene) -> None:
        in_my_room(scene, monkeypatch)
        reply = await scene.ask("POST", "/v1/down", {"team": name, "cwd": "/"})
        assert (reply.status, reply.error) == (
            404,
            {"code": "not_found", "message": f"no team {name} is up", "remedy": "teams that are up: shop"},
        )

    decided(tmp_path, Scripted(own_alone), act)
