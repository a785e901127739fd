"""The merge queue over HTTP, with a keeper that a test plays: what is told, what is refused, and who waits."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from corral.domain.merge_rules import MergeRules
from corral.ports.merging import Build, GateSeen, Landing, MergeStep, Submission
from tests.support.records import PERSON, TEAM
from tests.unit.api.scene import Scene, play


class Git:
    """Plays the git work of a keeper. Every branch merges, and a gate ends when it is told to."""

    def __init__(self) -> None:
        self.code: asyncio.Queue[int] = asyncio.Queue()
        self.landing = Landing(outcome="landed")
        self.landed: list[tuple[str, str]] = []
        self.busy = ""
        self.moved_again = asyncio.Event()
        self.built = 0

    async def merge_look(self, *, branch: str, **_: object) -> Submission:
        return Submission(branch=branch or "mine", tip=branch or "mine", subject="s", target="base", paths=[b"a/b"])

    async def merge_build(self, *, pieces: list[Any], **_: object) -> Build:
        self.built += 1
        steps = [
            MergeStep(name=piece.name, outcome="clean", commit=f"c-{piece.name}-{self.built}", tree=piece.tip)
            for piece in pieces
        ]
        return Build(base=f"base-{self.built}", steps=steps, busy=self.busy)

    async def merge_checkout(self, **_: object) -> str:
        return "/checkout"

    async def merge_clear(self, **_: object) -> list[str]:
        return []

    async def merge_land(self, *, old: str, new: str, **_: object) -> Landing:
        self.landed.append((old, new))
        if len(self.landed) > 1:
            self.moved_again.set()
        return self.landing

    async def start_gate(self, team: str, order: Any) -> None:
        assert (team, order.directory) == ("shop", "/checkout")

    async def wait_gate(self, *_: object, **__: object) -> GateSeen:
        return GateSeen(running=False, code=await self.code.get(), output=b"said", omitted=3)


async def prepared(scene: Scene, **rules: Any) -> Git:
    played = Git()
    for name in ("look", "build", "checkout", "clear", "land"):
        setattr(scene.keeper, f"merge_{name}", getattr(played, f"merge_{name}"))
    scene.keeper.start_gate = played.start_gate  # type: ignore[attr-defined]
    scene.keeper.wait_gate = played.wait_gate  # type: ignore[attr-defined]
    team = replace(TEAM, repo="/x", merge=MergeRules(target="main", **rules))
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
        assert (await scene.ask("GET", "/v1/merges?team=shop")).json == {"target": "main", "merges": []}
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


def test_what_there_is_not_is_not_found(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for merge in ("q1", "nonsense", "q" + "9" * 40):
            assert (await scene.ask("GET", f"/v1/merges/{merge}?team=shop")).status == 404
            assert (await scene.ask("POST", f"/v1/merges/{merge}/cancel?team=shop")).status == 404
        refused = await scene.ask("POST", "/v1/merges?team=shop", {"branch": "x"})
        assert (refused.status, refused.error["code"]) == (409, "refused")
        assert (await scene.ask("POST", "/v1/merges?team=shop", {"tokens": list(range(65))})).status == 400

    play(tmp_path, act)
