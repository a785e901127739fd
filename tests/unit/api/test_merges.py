"""The merge queue over HTTP, with a keeper that a test plays: what is told, what is refused, and who waits."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.domain.errors import CorralError
from corral.domain.merge_rules import MergeRules
from corral.ports.merging import Build, GateSeen, Landing, MergeStep, Submission
from corral.service import merge_waits, merge_work
from tests.support.records import PERSON, TEAM
from tests.unit.api.scene import Scene, play


class Git:
    """Plays the git work of a keeper. Every branch merges, and a gate ends when it is told to."""

    def __init__(self) -> None:
        self.code: asyncio.Queue[int] = asyncio.Queue()
        self.landing = Landing(outcome="landed")
        self.landed: list[tuple[str, str]] = []
        self.busy = ""
        self.left: list[str] = []
        self.stuck = False
        self.moved_again = asyncio.Event()
        self.built = 0
        self._happened = asyncio.Event()

    def _note(self) -> None:
        self._happened.set()
        self._happened = asyncio.Event()

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait for something to be built or landed."""
        while not done():
            await self._happened.wait()

    async def merge_look(self, *, branch: str, **_: object) -> Submission:
        return Submission(branch=branch or "mine", tip=branch or "mine", subject="s", target="base", paths=[b"a/b"])

    async def merge_build(self, *, pieces: list[Any], **_: object) -> Build:
        self.built += 1
        self._note()
        steps = [
            MergeStep(name=piece.name, outcome="clean", commit=f"c-{piece.name}-{self.built}", tree=piece.tip)
            for piece in pieces
        ]
        return Build(base=f"base-{self.built}", steps=steps, busy=self.busy)

    async def merge_checkout(self, **_: object) -> str:
        return "/checkout"

    async def merge_clear(self, **_: object) -> list[str]:
        return self.left

    async def merge_land(self, *, old: str, new: str, **_: object) -> Landing:
        self.landed.append((old, new))
        self._note()
        if self.stuck:
            raise CorralError("git refused", "repair it")
        if len(self.landed) > 1:
            self.moved_again.set()
        return self.landing

    async def start_gate(self, team: str, order: Any) -> None:
        assert (team, order.directory) == ("shop", "/checkout")

    async def wait_gate(self, *_: object, **__: object) -> GateSeen:
        return GateSeen(running=False, code=await self.code.get(), output=b"said", omitted=3)


async def prepared(scene: Scene, repository: str = "/x/.git", **rules: Any) -> Git:
    played = Git()
    for name in ("look", "build", "checkout", "clear", "land"):
        setattr(scene.keeper, f"merge_{name}", getattr(played, f"merge_{name}"))
    scene.keeper.start_gate = played.start_gate  # type: ignore[attr-defined]
    scene.keeper.wait_gate = played.wait_gate  # type: ignore[attr-defined]
    team = replace(TEAM, repo="/x", repository=repository, merge=MergeRules(target="main", **rules))
    await scene.registry.commit(PERSON, teams=[team])
    return played


async def submit(scene: Scene, branch: str, **body: object) -> Any:
    reply = await scene.ask("POST", "/v1/merges?team=shop", {"branch": branch, **body})
    assert reply.status == 200, reply.json
    return reply.json


async def show(scene: Scene, merge: str, query: str = "wait=20") -> Any:
    return (await scene.ask("GET", f"/v1/merges/{merge}?team=shop&{query}")).json


def test_a_branch_goes_in_and_is_told_of(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        said = await submit(scene, "x", wait=20)
        assert (said["state"], said["again"], said["target"]) == ("merged", False, "main")
        found = await show(scene, said["merge"])
        assert played.landed == [("base-1", found["commit"])]
        assert (found["gates"], found["attempt"], found["files"]) == ([], 1, [])
        assert (await scene.ask("GET", "/v1/merges?team=shop")).json == {"target": "main", "note": "", "merges": []}
        listed = (await scene.ask("GET", "/v1/merges?team=shop&all=1")).json["merges"]
        assert [one["merge"] for one in listed] == [said["merge"]]

    play(tmp_path, act)


def test_a_gate_that_fails_is_shown_with_what_it_wrote(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene, gates=("make",))
        played.code.put_nowait(2)
        said = await submit(scene, "x")
        found = await show(scene, said["merge"])
        assert found["state"] == "failed"
        assert found["gates"][0] | {"seconds": 0} == {
            "command": "make", "passed": False, "exit_code": 2, "timed_out": False, "seconds": 0,
            "output": "said", "omitted": 3, "left": 0,
        }  # fmt: skip
        assert played.landed == []
        assert "message.sent" in [event for event, _, _ in await scene.journal()]
        played.code.put_nowait(0)
        again = await scene.ask("POST", f"/v1/merges/{said['merge']}/retry?team=shop", {})
        assert (again.json["state"], again.json["attempt"]) == ("queued", 2)
        assert (await show(scene, said["merge"]))["state"] == "merged"
        assert (await scene.ask("POST", f"/v1/merges/{said['merge']}/retry?team=shop", {})).status == 409

    play(tmp_path, act)


def test_several_that_wait_are_tested_together_and_halved(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene, gates=("make",), batch=4)
        first = (await submit(scene, "first"))["merge"]
        ids = [(await submit(scene, f"b{number}"))["merge"] for number in range(4)]
        # The first passes alone; four fail; then two pass; then two fail; then one passes and one fails.
        for code in (0, 1, 0, 1, 0, 1):
            played.code.put_nowait(code)
        found = [await show(scene, merge) for merge in (first, *ids)]
        assert [one["state"] for one in found] == ["merged", "merged", "merged", "merged", "failed"]
        assert played.code.empty()
        assert len(played.landed) == 3

    play(tmp_path, act)


def test_a_target_that_moved_is_merged_upon_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.landing = Landing(outcome="moved", why="main is elsewhere")
        said = await submit(scene, "x")
        await asyncio.wait_for(played.moved_again.wait(), 20)
        played.landing = Landing(outcome="landed")
        assert (await show(scene, said["merge"]))["state"] == "merged"
        assert played.landed[-1][0] == f"base-{played.built}"

    play(tmp_path, act)


def test_one_that_waits_says_what_for_and_can_be_cancelled(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.busy = "main has changes"
        said = await submit(scene, "x")
        found = await show(scene, said["merge"], "wait=20&after=1")
        assert (found["state"], found["step"]) == ("queued", "waits: main has changes")
        other = await scene.ask("POST", "/v1/merges?team=shop", {"branch": "x"})
        assert (other.json["merge"], other.json["again"]) == (said["merge"], True)
        cancelled = await scene.ask("POST", f"/v1/merges/{said['merge']}/cancel?team=shop")
        assert cancelled.json["state"] == "cancelled"
        assert (await scene.ask("POST", f"/v1/merges/{said['merge']}/cancel?team=shop")).status == 409

    play(tmp_path, act)


def test_what_somebody_else_holds_is_refused_with_the_holder(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await prepared(scene)
        held = (await scene.ask("POST", "/v1/leases?team=shop&agent=b", {"patterns": ["a/"], "literal": False})).json
        refused = await scene.ask("POST", "/v1/merges?team=shop&agent=a", {"branch": "x"})
        assert refused.status == 409
        assert (refused.error["holder"], refused.error["pattern"], refused.error["path"]) == ("shop/b", "a/", "a/b")
        mine = await scene.ask("POST", "/v1/merges?team=shop&agent=b", {"branch": "x", "tokens": [held["token"]]})
        assert mine.status == 200
        stale = await scene.ask("POST", "/v1/merges?team=shop&agent=b", {"branch": "y", "tokens": [held["token"] + 9]})
        assert (stale.status, stale.error["token"]) == (409, held["token"] + 9)

    play(tmp_path, act)


def test_what_was_lost_to_somebody_who_has_given_it_back_is_refused_with_what_helps(tmp_path: Path) -> None:
    async def acquire(scene: Scene, agent: str) -> dict[str, Any]:
        body = {"patterns": ["a/"], "literal": False}
        held: dict[str, Any] = (await scene.ask("POST", f"/v1/leases?team=shop&agent={agent}", body)).json
        return held

    async def act(scene: Scene) -> None:
        played = await prepared(scene, gates=("make",))
        merge = (await scene.ask("POST", "/v1/merges?team=shop&agent=a", {"branch": "y"})).json["merge"]
        played.code.put_nowait(1)
        assert (await show(scene, merge))["state"] == "failed"
        mine = await acquire(scene, "a")
        # A person takes it away from under the agent, and another one gets it.
        await scene.ask("POST", f"/v1/leases/{mine['lease']}/release?team=shop&agent=a", {})
        theirs = await acquire(scene, "b")
        held = (await scene.ask("POST", "/v1/merges?team=shop&agent=a", {"branch": "x"})).error
        assert (held["holder"], held["lease"], "expires_at" in held) == ("shop/b", theirs["lease"], True)
        assert held["remedy"].endswith("then corral merge submit")
        await scene.ask("POST", f"/v1/leases/{theirs['lease']}/release?team=shop&agent=b", {})
        gone = (await scene.ask("POST", "/v1/merges?team=shop&agent=a", {"branch": "x"})).error
        assert (gone["holder"], gone["pattern"], gone["path"]) == ("shop/b", "a/", "a/b")
        assert not {"expires_at", "lease", "since"} & set(gone)
        assert f"that shop/a had (token {mine['token']}) is lost: shop/b got a/ at" in gone["message"]
        assert "wait" not in gone["remedy"]
        assert "corral lease acquire --agent shop/a a/" in gone["remedy"]
        assert gone["remedy"].endswith("corral merge submit"), "nothing is in line that could be tried again"
        again = (await scene.ask("POST", f"/v1/merges/{merge}/retry?team=shop", {})).error
        assert again["remedy"].endswith(f"corral merge retry {merge}")
        await acquire(scene, "a")
        assert (await scene.ask("POST", "/v1/merges?team=shop&agent=a", {"branch": "x"})).status == 200

    play(tmp_path, act)


def test_what_there_is_not_is_not_found(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for merge in ("q1", "nonsense", "q" + "9" * 40):
            assert (await scene.ask("GET", f"/v1/merges/{merge}?team=shop")).status == 404
            assert (await scene.ask("POST", f"/v1/merges/{merge}/cancel?team=shop")).status == 404
        refused = await scene.ask("POST", "/v1/merges?team=shop", {"branch": "x"})
        assert (refused.status, refused.error["code"]) == (409, "refused")
        assert (await scene.ask("POST", "/v1/merges?team=shop", {"tokens": list(range(65))})).status == 400

    play(tmp_path, act)


def test_what_was_submitted_in_another_repository_waits_for_that(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.busy = "main has changes"
        first, second = [(await submit(scene, branch))["merge"] for branch in "xy"]
        await show(scene, first, "wait=20&after=1")
        played.busy = ""
        # Down, and up in a clone: a team of the same name, and another repository.
        team = replace(scene.registry.teams["shop"], repo="/y", repository="/y/.git")
        await scene.registry.commit(PERSON, teams=[team])
        mine = await submit(scene, "x", wait=20)
        assert (mine["state"], mine["again"]) == ("merged", False)
        assert (await show(scene, first, "wait=0"))["state"] == "queued"
        listed = (await scene.ask("GET", "/v1/merges?team=shop")).json
        assert [one["repository"] for one in listed["merges"]] == ["/x/.git", "/x/.git"]
        assert f"2 merges are of another repository (/x/.git): {first}, {second}" in listed["note"]
        assert (await scene.ask("POST", f"/v1/merges/{second}/cancel?team=shop")).json["state"] == "cancelled"
        refused = await scene.ask("POST", f"/v1/merges/{second}/retry?team=shop", {})
        assert (refused.status, "another repository" in refused.error["message"]) == (409, True)
        # Up again where it was submitted.
        await scene.registry.commit(PERSON, teams=[replace(team, repo="/x", repository="/x/.git")])
        assert (await submit(scene, "z", wait=20))["state"] == "merged"
        assert (await show(scene, first))["state"] == "merged"

    play(tmp_path, act)


def test_a_workspace_that_will_not_go_decides_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene, gates=("make",))
        played.left = ["/merges/shop/1: in use"]
        played.code.put_nowait(0)
        assert (await submit(scene, "x", wait=20))["state"] == "merged"
        played.code.put_nowait(1)
        assert (await submit(scene, "y", wait=20))["state"] == "failed"
        assert [event for event, _, _ in await scene.journal()].count("merge.residue") == 2

    play(tmp_path, act)


def test_one_that_cannot_land_says_why_and_can_be_cancelled(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.stuck = True
        said = await submit(scene, "x")
        found = await show(scene, said["merge"], "wait=0")
        while not found["step"]:
            found = await show(scene, said["merge"], f"wait=20&after={found['revision']}")
        assert (found["state"], found["step"]) == ("landing", "waits: git refused; repair it")
        cancelled = await scene.ask("POST", f"/v1/merges/{said['merge']}/cancel?team=shop")
        assert cancelled.json["state"] == "cancelled"
        assert "git log main tells whether it did" in cancelled.json["reason"]

    play(tmp_path, act)


def test_a_retry_relies_on_the_same_tokens_unless_others_are_given(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene, gates=("make",))
        held = (await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["c/"], "literal": False})).json
        body = {"branch": "x", "tokens": [held["token"]]}
        merge = (await scene.ask("POST", "/v1/merges?team=shop&agent=a", body)).json["merge"]
        played.code.put_nowait(1)
        assert (await show(scene, merge))["state"] == "failed"
        await scene.ask("POST", f"/v1/leases/{held['lease']}/release?team=shop&agent=a", {})
        refused = await scene.ask("POST", f"/v1/merges/{merge}/retry?team=shop", {})
        assert (refused.status, refused.error["token"]) == (409, held["token"])
        assert "--token" in refused.error["remedy"]
        held = (await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["c/"], "literal": False})).json
        again = await scene.ask("POST", f"/v1/merges/{merge}/retry?team=shop", {"tokens": [held["token"]]})
        assert again.json["tokens"] == [held["token"]]
        played.code.put_nowait(0)
        assert (await show(scene, merge))["state"] == "merged"

    play(tmp_path, act)


def test_cancelling_one_of_the_other_half_leaves_the_test_alone(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene, gates=("make",), batch=2)
        first = (await submit(scene, "first"))["merge"]
        one, other = [(await submit(scene, branch))["merge"] for branch in "xy"]
        played.code.put_nowait(0)
        await show(scene, first)
        played.code.put_nowait(1)
        found = await show(scene, one, "wait=0")
        while not found["step"].startswith("gate 1 of 1") or found["batch"] != [one]:
            found = await show(scene, one, f"wait=20&after={found['revision']}")
        built = played.built
        assert (await scene.ask("POST", f"/v1/merges/{other}/cancel?team=shop")).json["state"] == "cancelled"
        played.code.put_nowait(0)
        assert (await show(scene, one))["state"] == "merged"
        assert played.built == built, "it was not merged and tested again"

    play(tmp_path, act)


def test_of_a_team_that_is_down_the_line_can_be_seen_and_cancelled(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.busy = "main has changes"
        merge = (await submit(scene, "x"))["merge"]
        await scene.registry.commit(PERSON, drop_teams=["shop"])
        listed = (await scene.ask("GET", "/v1/merges?team=shop")).json
        assert [one["merge"] for one in listed["merges"]] == [merge]
        assert (await scene.ask("POST", f"/v1/merges/{merge}/cancel?team=shop")).json["state"] == "cancelled"
        assert (await scene.ask("GET", "/v1/merges?team=shop")).status == 404

    play(tmp_path, act)


def test_whose_it_is_gets_one_message_when_it_waits_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (merge_work, merge_waits):
        monkeypatch.setattr(module, "AGAIN_SECONDS", 0.0)

    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.busy = "main has changes"
        merge = (await submit(scene, "x"))["merge"]
        await played.until(lambda: played.built >= 6)
        assert [event for event, _, _ in await scene.journal()].count("message.sent") == 1
        assert (await show(scene, merge, "wait=0"))["step"] == "waits: main has changes"
        played.busy = ""
        assert (await show(scene, merge))["state"] == "merged"

    play(tmp_path, act)


def test_one_that_was_about_to_land_in_a_target_that_is_the_teams_no_more_is_merged_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_work, "AGAIN_SECONDS", 0.02)

    async def act(scene: Scene) -> None:
        played = await prepared(scene)
        played.stuck = True
        merge = (await submit(scene, "x"))["merge"]
        await played.until(lambda: len(played.landed) >= 2)
        team = scene.registry.teams["shop"]
        await scene.registry.commit(PERSON, teams=[replace(team, merge=MergeRules(target="trunk"))])
        played.landing, asked = Landing(outcome="moved", why="main is gone"), len(played.landed)
        played.stuck = False
        await played.until(lambda: len(played.landed) > asked)
        played.landing = Landing(outcome="landed")
        found = await show(scene, merge)
        assert (found["state"], found["target"]) == ("merged", "trunk")
        assert played.landed[asked][0] == "", "main is asked whether it has it, and not moved"
        assert "merge.moved" in [event for event, _, _ in await scene.journal()]

    play(tmp_path, act)
