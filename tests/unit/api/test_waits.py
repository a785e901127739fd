"""Waits of every kind, of one daemon: those that would close a cycle are refused at once, with the cycle named."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.api.scene import Reply, Scene, play


async def claimed(scene: Scene, agent: str, title: str, **more: object) -> Any:
    await scene.ask("POST", "/v1/tasks?team=shop", {"title": title, **more})
    return (await scene.ask("POST", f"/v1/tasks/claim?team=shop&agent={agent}", {})).json


async def added(scene: Scene, title: str, *after: str) -> str:
    return str((await scene.ask("POST", "/v1/tasks?team=shop", {"title": title, "after": after})).json["task"])


async def waiting(scene: Scene, request: Any) -> "asyncio.Task[Reply]":
    """A request that waits, once the daemon has it."""
    before = len(scene.waits)
    task: asyncio.Task[Reply] = asyncio.ensure_future(request)
    while len(scene.waits) == before:
        assert not task.done(), task.result().body
        await asyncio.sleep(0.001)
    return task


async def ended(task: "asyncio.Task[Reply]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_who_has_what_the_only_task_needs_need_not_wait_for_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = (await claimed(scene, "a", "first"))["task"]
        second = await added(scene, "second", first)
        refused = await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {"wait": 30})
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/a"])
        assert f"{first}, which {second} needs" in refused.error["message"]
        other = await waiting(scene, scene.ask("POST", "/v1/tasks/claim?team=shop&agent=b", {"wait": 30}))
        # b can go on when a is done; but a cannot wait for b now.
        await scene.ask("POST", "/v1/locks?team=shop&agent=b", {"name": "deploy"})
        refused = await scene.ask("POST", "/v1/locks?team=shop&agent=a", {"name": "deploy", "wait": 30})
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/a", "shop/b"])
        assert await added(scene, "third")  # there is hope: it gets this one
        assert (await other).json["title"] == "third"

    play(tmp_path, act)


def test_a_task_that_is_added_may_close_a_cycle_over_leases_and_messages(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["src/"]})
        assert held.status == 200
        one = (await claimed(scene, "b", "one"))["task"]
        lease = await waiting(
            scene, scene.ask("POST", "/v1/leases?team=shop&agent=b", {"patterns": ["src/x"], "wait": 30})
        )
        claim = await waiting(scene, scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {"wait": 30}))
        two = await added(scene, "two", one)
        refused = await claim
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/a", "shop/b"])
        assert f"{one}, which {two} needs" in refused.error["message"]
        refused = await scene.ask("GET", "/v1/messages/inbox?team=shop&agent=a&from=b&wait=30")
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/a", "shop/b"])
        await ended(lease)

    play(tmp_path, act)


def test_to_wait_until_files_are_free_writes_nothing_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = (await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["src/"], "shared": True})).json
        watching = await waiting(
            scene, scene.ask("POST", "/v1/leases/wait?team=shop&agent=b", {"patterns": ["src/x"], "wait": 30})
        )
        # Somebody who only looks is in nobody's way: one who stood in line exclusively would be.
        shared = await scene.ask("POST", "/v1/leases?team=shop", {"patterns": ["src/"], "shared": True})
        assert shared.status == 200
        refused = await scene.ask("POST", "/v1/leases/wait?team=shop&agent=b", {"patterns": ["src/x"], "wait": 0})
        assert (refused.status, refused.error["holder"]) == (409, "shop/a")
        await scene.ask("POST", "/v1/locks?team=shop&agent=b", {"name": "deploy"})
        refused = await scene.ask("POST", "/v1/locks?team=shop&agent=a", {"name": "deploy", "wait": 30})
        assert refused.error["cycle"] == ["shop/a", "shop/b"]
        await scene.ask("POST", f"/v1/leases/{shared.json['lease']}/release?team=shop", {})
        assert not watching.done()
        await scene.ask("POST", f"/v1/leases/{held['lease']}/release?team=shop&agent=a", {})
        assert (await watching).json["free"] is True
        told = [event for event, _, _ in await scene.journal() if event.startswith("lease.")]
        assert sorted(told) == ["lease.granted"] * 3 + ["lease.released"] * 2

    play(tmp_path, act)


@pytest.mark.parametrize(("labels", "given"), [([], ["plain"]), (["gpu"], ["plain", "with gpu"])])
def test_an_agent_gets_tasks_that_ask_for_no_more_than_its_labels(
    tmp_path: Path, labels: list[str], given: list[str]
) -> None:
    async def act(scene: Scene) -> None:

        agent = scene.registry.agent("shop", "a")
        await scene.registry.observe([replace(agent, labels=tuple(labels))], ())
        for title, asks in (("plain", []), ("with gpu", ["gpu"]), ("with both", ["gpu", "rust"])):
            await scene.ask("POST", "/v1/tasks?team=shop", {"title": title, "labels": asks})
        for title in given:
            assert (await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {})).json["title"] == title
        assert (await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {})).status == 404
        rest = (await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {"labels": ["gpu", "rust"]})).json
        assert rest["title"] in ("with gpu", "with both")

    play(tmp_path, act)
