"""Locks over HTTP: one command at a time, whosever it is, and none that waits for itself."""

import asyncio
from pathlib import Path

from tests.unit.api.scene import Reply, Scene, play


async def lock(scene: Scene, name: str, agent: str = "a", **more: object) -> Reply:
    return await scene.ask("POST", f"/v1/locks?team=shop&agent={agent}", {"name": name, **more})


async def release(scene: Scene, lease: str, agent: str = "a") -> Reply:
    return await scene.ask("POST", f"/v1/leases/{lease}/release?team=shop&agent={agent}", {})


async def in_line(scene: Scene, count: int) -> None:
    while len(scene.waits) < count:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0.005)


def test_a_lock_keeps_out_others_of_the_same_agent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = (await lock(scene, "dep")).json
        refused = await lock(scene, "dep")
        assert (refused.status, refused.error["holder"], refused.error["lease"]) == (409, "shop/a", first["lease"])
        second = asyncio.ensure_future(lock(scene, "dep", wait=30))
        await in_line(scene, 1)
        third = asyncio.ensure_future(lock(scene, "dep", wait=30))
        await in_line(scene, 2)
        assert not second.done()
        await release(scene, first["lease"])
        given = (await second).json
        assert given["token"] > first["token"]
        assert not third.done()
        await release(scene, given["lease"])
        assert (await third).status == 200

    play(tmp_path, act)


def test_a_person_waits_for_their_own_command(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = (await scene.ask("POST", "/v1/locks?team=shop", {"name": "dep"})).json
        late = await scene.ask("POST", "/v1/locks?team=shop", {"name": "dep", "wait": 0.05})
        assert (late.status, late.error["lease"]) == (409, first["lease"])

    play(tmp_path, act)


def test_a_lock_within_itself_is_refused_at_once_and_named(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        outer = (await lock(scene, "dep")).json
        inner = (await lock(scene, "db", within=[outer["token"]])).json
        for wait in (0, 30):
            within = [outer["token"], inner["token"]]
            refused = await asyncio.wait_for(lock(scene, "dep", wait=wait, within=within), 10)
            assert refused.status == 409
            assert "would wait for itself" in refused.error["message"]
            assert (refused.error["lease"], refused.error["pattern"]) == (outer["lease"], "dep")
        # What somebody says who holds no such thing is not believed.
        other = await lock(scene, "dep", agent="b", wait=0.05, within=[outer["token"]])
        assert (other.status, "itself" in other.error["message"]) == (409, False)

    play(tmp_path, act)


def test_two_commands_of_one_agent_that_wait_for_each_other_are_a_cycle(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        one, other = (await lock(scene, "one")).json, (await lock(scene, "other")).json
        waiting = asyncio.ensure_future(lock(scene, "other", wait=30, within=[one["token"]]))
        await in_line(scene, 2)
        refused = await asyncio.wait_for(lock(scene, "one", wait=30, within=[other["token"]]), 10)
        assert refused.status == 409
        assert refused.error["cycle"] == [f"shop/a within lock {one_of['lease']}" for one_of in (other, one)]
        assert (refused.error["holder"], refused.error["pattern"]) == ("shop/a", "one")
        assert not waiting.done()
        await release(scene, other["lease"])
        assert (await waiting).status == 200

    play(tmp_path, act)


def test_what_the_agent_itself_holds_as_a_lock_it_does_not_wait_for(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        mine = (await lock(scene, "dep", while_agent_runs=True)).json
        refused = await asyncio.wait_for(lock(scene, "dep", while_agent_runs=True, wait=30), 10)
        assert (refused.status, refused.error["lease"]) == (409, mine["lease"])
        assert "would wait for itself" in refused.error["message"]

    play(tmp_path, act)
