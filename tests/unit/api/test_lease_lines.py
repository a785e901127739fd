"""Who stands in line for leases over HTTP: what they are told, who leaves, and what a full disk does to them."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from corral.domain import states
from corral.domain.errors import CorralError
from tests.unit.api.scene import Reply, Scene, play


async def acquire(scene: Scene, agent: str, *patterns: str, **more: object) -> Reply:
    return await scene.ask("POST", f"/v1/leases?team=shop&agent={agent}", {"patterns": list(patterns), **more})


async def release(scene: Scene, agent: str, lease: str) -> Reply:
    return await scene.ask("POST", f"/v1/leases/{lease}/release?team=shop&agent={agent}", {})


async def in_line(scene: Scene, count: int) -> None:
    """Return when so many wait."""
    while len(scene.waits) < count:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0.005)


async def becomes(scene: Scene, agent: str, state: str) -> None:
    now = replace(scene.registry.agents["shop", agent], state=state)
    await scene.registry.observe([now], [])


def test_one_who_is_refused_for_somebody_in_line_is_told_who_that_is_and_what_is_waited_for(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = (await acquire(scene, "a", "x/", shared=True)).json
        waiting = asyncio.ensure_future(acquire(scene, "b", "x/y", wait=30))
        await in_line(scene, 1)
        person = "/v1/leases?team=shop"
        refused = await scene.ask("POST", person, {"patterns": ["x/*"], "shared": True})
        assert refused.status == 409
        error = refused.error
        assert (error["holder"], error["pattern"], error["lease"]) == ("shop/b", "x/y", first["lease"])
        assert error["expires_at"] == first["expires_at"]
        assert "shop/a, who holds x/" in error["message"]
        assert "--wait" in error["remedy"]
        late = await scene.ask("POST", person, {"patterns": ["x/*"], "shared": True, "wait": 0.05})
        assert (late.status, late.error["holder"]) == (409, "shop/b")
        assert "--wait" not in late.error["remedy"]
        held = await acquire(scene, "b", "x/z", wait=0.05)
        assert (held.error["holder"], "--wait" in held.error["remedy"]) == ("shop/a", False)
        waiting.cancel()

    play(tmp_path, act)


def test_a_cycle_is_told_with_holder_and_pattern_of_its_first_step(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        mine = (await acquire(scene, "a", "x/")).json
        await acquire(scene, "b", "y")
        waiting = asyncio.ensure_future(acquire(scene, "a", "y", wait=30))
        await in_line(scene, 1)
        for path in ("/v1/leases", "/v1/leases/wait"):
            refused = await scene.ask("POST", f"{path}?team=shop&agent=b", {"patterns": ["x/1"], "wait": 30})
            assert refused.error["cycle"] == ["shop/b", "shop/a"]
            assert (refused.error["holder"], refused.error["pattern"]) == ("shop/a", "x/")
            assert refused.error["expires_at"] == mine["expires_at"]
        waiting.cancel()

    play(tmp_path, act)


def test_an_agent_that_does_not_run_is_granted_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for state in (states.STOPPED, states.FAILED, states.BACKOFF):
            await becomes(scene, "b", state)
            refused = await acquire(scene, "b", "x")
            assert (refused.status, f"shop/b does not run ({state})" in refused.error["message"]) == (409, True)
            assert refused.error["remedy"]
        await becomes(scene, "b", states.UNKNOWN)
        assert (await acquire(scene, "b", "x")).status == 200, "it may be alive"

    play(tmp_path, act)


def test_an_agent_whose_run_ends_leaves_the_line(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for state in (states.STOPPED, states.FAILED):
            mine = (await acquire(scene, "a", "x")).json
            waiting = asyncio.ensure_future(acquire(scene, "b", "x", wait=30))
            person = asyncio.ensure_future(scene.ask("POST", "/v1/leases?team=shop", {"patterns": ["x"], "wait": 30}))
            await in_line(scene, 2)
            await becomes(scene, "b", state)
            refused = await asyncio.wait_for(waiting, 10)
            assert (refused.status, "does not run" in refused.error["message"]) == (409, True)
            await release(scene, "a", mine["lease"])
            last = (await person).json
            await scene.ask("POST", f"/v1/leases/{last['lease']}/release?team=shop", {})
            await becomes(scene, "b", states.RUNNING)

    play(tmp_path, act)


class Full:
    """A store that takes nothing, and counts how often it is asked to."""

    def __init__(self, scene: Scene) -> None:
        self.asked = 0
        self._scene = scene
        self._commit: Callable[..., Any] = scene.store.commit

    async def _refuse(self, *_: object) -> None:
        self.asked += 1
        raise CorralError("the disk is full", "make room")

    def __enter__(self) -> "Full":
        self._scene.store.commit = self._refuse  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self._scene.store.commit = self._commit  # type: ignore[method-assign]


def test_on_a_full_disk_the_dead_are_not_tried_without_end_and_the_line_stays(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        mine = (await acquire(scene, "a", "x", ttl=0.01)).json
        first = asyncio.ensure_future(acquire(scene, "b", "x", wait=60))
        await in_line(scene, 1)
        second = asyncio.ensure_future(scene.ask("POST", "/v1/leases?team=shop", {"patterns": ["x"], "wait": 60}))
        await in_line(scene, 2)
        with Full(scene) as full:
            await becomes(scene, "a", states.FAILED)
            # It is suspect, which cannot be written; and it would expire at once, which cannot be either.
            await asyncio.sleep(0.5)
            assert full.asked < 10
            assert not first.done()
            assert not second.done()
        given = (await first).json
        assert (given["agent"], given["token"] > mine["token"]) == ("shop/b", True)
        assert not second.done()
        await release(scene, "b", given["lease"])
        assert (await second).status == 200

    play(tmp_path, act)


def test_one_whose_grant_cannot_be_written_goes_on_waiting_in_its_place(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        mine = (await acquire(scene, "a", "x")).json
        waiting = asyncio.ensure_future(acquire(scene, "b", "x", wait=60))
        await in_line(scene, 1)
        with Full(scene):
            assert (await release(scene, "a", mine["lease"])).status == 500
            await in_line(scene, 1)
            assert not waiting.done()
            assert (await acquire(scene, "b", "y")).status == 500
        assert (await release(scene, "a", mine["lease"])).status == 200
        assert (await waiting).json["agent"] == "shop/b"

    play(tmp_path, act)
