"""What was observed counts at once, and is written as it was once the store takes it."""

import asyncio
from dataclasses import replace
from pathlib import Path

from corral.adapters.sqlite.store import SqliteStore, StoreError
from corral.domain import states
from corral.domain.records import SUPERVISOR, Event, NewEvent
from corral.ports.store import Change
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM


class Disk(SqliteStore):
    """A store on a disk that can be full."""

    full = False

    async def commit(self, *changes: Change) -> None:
        if self.full:
            raise StoreError("the disk is full")
        await super().commit(*changes)


async def _disk(directory: Path) -> Disk:
    disk = await Disk.open(str(directory / "corral.db"))
    assert isinstance(disk, Disk)
    return disk


class Clock:
    """A clock that is set by hand."""

    now = 1.0

    def __call__(self) -> float:
        return self.now


def test_what_could_not_be_written_is_written_later_with_its_own_time_and_author(tmp_path: Path) -> None:
    async def run() -> list[Event]:
        clock = Clock()
        store = await _disk(tmp_path)
        registry = Registry(store, clock, str(tmp_path / "at-rest"))
        await registry.commit(PERSON, teams=[TEAM], agents=[AGENT])
        store.full = True
        clock.now = 2.0
        failed = replace(AGENT, state=states.FAILED)
        await registry.observe([failed], [NewEvent(event="agent.exited", team="shop", agent="a")])
        clock.now = 3.0
        await registry.observe((), [NewEvent(event="message.submitted", team="shop", agent="a")], PERSON)
        assert registry.agents["shop", "a"] is failed
        assert [agent.state for agent in (await store.load()).agents] == [states.RUNNING]
        store.full = False
        clock.now = 4.0
        await registry.commit(PERSON, events=[NewEvent(event="later", team="shop")])
        assert [agent.state for agent in (await store.load()).agents] == [states.FAILED]
        events = await store.events()
        await store.close()
        return events

    told = [(event.event, event.time, event.who) for event in asyncio.run(run())]
    assert told == [
        ("agent.exited", 2.0, SUPERVISOR),
        ("message.submitted", 3.0, PERSON),
        ("later", 4.0, PERSON),
    ]


def test_what_waits_is_written_without_anything_else_happening(tmp_path: Path) -> None:
    async def run() -> list[str]:
        store = await _disk(tmp_path)
        registry = Registry(store, Clock(), str(tmp_path / "at-rest"))
        store.full = True
        await registry.observe((), [NewEvent(event="seen")])
        store.full = False
        assert await store.events() == []
        growth = asyncio.ensure_future(registry.journal_growth())
        await asyncio.wait_for(growth, 10)
        events = [event.event for event in await store.events()]
        await store.close()
        return events

    assert asyncio.run(run()) == ["seen"]


def test_what_is_noted_is_written_in_a_moment_or_before_the_next_commit(tmp_path: Path) -> None:
    async def run() -> list[Event]:
        store = await _disk(tmp_path)
        clock = Clock()
        registry = Registry(store, clock, str(tmp_path / "at-rest"))
        registry.note(PERSON, NewEvent(event="noted"))
        clock.now = 2.0
        await registry.observe((), [NewEvent(event="seen")])
        registry.note(PERSON, NewEvent(event="noted too"))
        await asyncio.wait_for(registry.journal_growth(), 10)
        events = await store.events()
        await store.close()
        return events

    told = [(event.event, event.time, event.who) for event in asyncio.run(run())]
    assert told == [("noted", 1.0, PERSON), ("seen", 2.0, SUPERVISOR), ("noted too", 2.0, PERSON)]
