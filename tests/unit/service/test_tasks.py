"""Tasks on a disk that may be full, and over a restart."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from corral.adapters.sqlite.store import StoreError
from corral.domain import task_records
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.records import SUPERVISOR
from corral.domain.task_records import NewTask
from corral.domain.waits import Waits
from corral.places import Places
from corral.ports.keeper import Keeper
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.tasks import Tasks, Wanted
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM
from tests.support.waiting import wait_for
from tests.unit.service.fake_keeper import FakeKeeper
from tests.unit.service.test_ledger import Disk, opened


class Daemon:
    """As much of a daemon as tasks need."""

    def __init__(self, disk: Disk, tasks: Tasks) -> None:
        self.disk = disk
        self.tasks = tasks

    async def add(self, title: str = "x") -> str:
        task, _ = await self.tasks.add(PERSON, TEAM, NewTask(title=title))
        return task


def run(directory: Path, *acts: Callable[[Daemon], Awaitable[None]]) -> None:
    """One daemon after the other."""

    async def connect(*_: object) -> Keeper:
        return cast("Keeper", FakeKeeper())

    async def play() -> None:
        for act in acts:
            disk = await opened(directory)
            registry = Registry(disk, lambda: 0.0, str(directory / "at-rest"))
            await registry.commit(PERSON, teams=[TEAM], agents=[AGENT])
            supervisor = Supervisor(registry, connect, lambda: 0.0)
            places = Places(str(directory), str(directory))
            context = Context(registry=registry, supervisor=supervisor, store=disk, places=places, now=lambda: 0.0)
            ledger = Ledger(disk)
            tasks = Tasks(context, ledger, Waits())
            await ledger.load()
            try:
                await asyncio.wait_for(act(Daemon(disk, tasks)), 60)
            finally:
                disk.full = False
                tasks.end()
                await disk.close()

    asyncio.run(play())


def test_what_could_not_be_written_never_was(tmp_path: Path) -> None:
    async def act(daemon: Daemon) -> None:
        tasks = daemon.tasks
        task = await daemon.add()
        daemon.disk.full = True
        for refused in (daemon.add(), tasks.claim(PERSON, TEAM, Wanted(agent=AGENT))):
            with pytest.raises(StoreError):
                await refused
        daemon.disk.full = False
        assert [(seen.task.id, seen.state, seen.task.attempt) for seen in tasks.list(TEAM)] == [(task, "ready", 0)]
        claimed = await tasks.claim(PERSON, TEAM, Wanted(agent=AGENT))
        daemon.disk.full = True
        with pytest.raises(StoreError):
            await tasks.done(PERSON, TEAM, task, claimed.task.token)
        daemon.disk.full = False
        assert tasks.show(TEAM, task).state == "claimed"
        assert (await tasks.done(PERSON, TEAM, task, claimed.task.token)).state == "done"

    run(tmp_path, act)


def test_a_key_that_is_not_on_the_disk_is_not_told_of(tmp_path: Path) -> None:
    async def act(daemon: Daemon) -> None:
        daemon.disk.full = True
        asked = [daemon.tasks.add(PERSON, TEAM, NewTask(title="x", key="k")) for _ in range(2)]
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(outcome, StoreError) for outcome in outcomes)
        assert list(daemon.tasks.list(TEAM)) == []

    run(tmp_path, act)


def test_one_who_waits_gets_what_is_there_when_the_disk_has_room_again(tmp_path: Path) -> None:
    async def act(daemon: Daemon) -> None:
        waiting = asyncio.ensure_future(daemon.tasks.claim(PERSON, TEAM, Wanted(wait=30)))
        await asyncio.sleep(0)
        daemon.disk.full = True
        with pytest.raises(StoreError):
            await daemon.add()
        with pytest.raises(StoreError):  # it was told of a task that never was
            await waiting
        daemon.disk.full = False
        again = asyncio.ensure_future(daemon.tasks.claim(PERSON, TEAM, Wanted(wait=30)))
        task = await daemon.add()
        assert (await again).task.id == task

    run(tmp_path, act)


def test_a_lapse_that_could_not_be_written_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(task_records, "SHORTEST_TTL", 0.05)

    async def act(daemon: Daemon) -> None:
        task = await daemon.add()
        # Long enough for the disk to be full before it is over, however busy this machine is.
        claimed = await daemon.tasks.claim(PERSON, TEAM, Wanted(ttl=1.5))
        daemon.disk.full = True
        await asyncio.to_thread(wait_for, lambda: "was not written" in caplog.text, what="the refused write")
        seen = daemon.tasks.show(TEAM, task)
        assert (seen.state, seen.task.token) == ("claimed", claimed.task.token)
        daemon.disk.full = False
        again = await daemon.tasks.claim(PERSON, TEAM, Wanted(wait=30))
        assert (again.task.id, again.task.attempt) == (task, 2)
        events = [event for event in await daemon.disk.events() if event.event == "task.lapsed"]
        assert [(event.who, event.data["task"]) for event in events] == [(SUPERVISOR, task)]

    run(tmp_path, act)


def test_a_restart_keeps_claims_and_gives_them_their_whole_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_records, "SHORTEST_TTL", 0.05)
    known: dict[str, int] = {}

    async def before(daemon: Daemon) -> None:
        for title in ("done", "claimed", "failed", "waits"):
            known[title] = int((await daemon.add(title))[1:])
        tasks = daemon.tasks
        done = await tasks.claim(PERSON, TEAM, Wanted())
        await tasks.done(PERSON, TEAM, done.task.id, done.task.token, result="42")
        claimed = await tasks.claim(PERSON, TEAM, Wanted(ttl=1.0))
        failed = await tasks.claim(PERSON, TEAM, Wanted())
        await tasks.fail(PERSON, TEAM, failed.task.id, failed.task.token)
        known["token"], known["stale"] = claimed.task.token, failed.task.token
        await asyncio.sleep(0.7)

    async def after(daemon: Daemon) -> None:
        tasks = daemon.tasks
        assert {seen.task.title: seen.state for seen in tasks.list(TEAM)} == {
            "done": "done",
            "claimed": "claimed",
            "failed": "delayed",
            "waits": "ready",
        }
        assert tasks.show(TEAM, f"t{known['done']}").task.result == "42"
        await asyncio.sleep(0.5)  # with what was left before, it would be over
        task = f"t{known['claimed']}"
        assert (await tasks.renew(PERSON, TEAM, task, known["token"])).state == "claimed"
        with pytest.raises(RefusedError):
            await tasks.done(PERSON, TEAM, f"t{known['failed']}", known["stale"])
        new = await tasks.claim(PERSON, TEAM, Wanted())
        assert new.task.token > max(known.values())

    async def at_last(daemon: Daemon) -> None:
        assert (await daemon.tasks.claim(PERSON, TEAM, Wanted(wait=30))).task.number == known["claimed"]
        with pytest.raises(NotFoundError):
            await daemon.tasks.claim(PERSON, TEAM, Wanted())

    run(tmp_path, before, after, at_last)
