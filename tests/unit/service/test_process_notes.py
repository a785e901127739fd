"""The journal of what is done to processes: in order, by whom, and without anybody waiting for it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.records import Event, NewEvent
from corral.service.process_notes import ProcessNotes
from corral.supervise.registry import Registry
from tests.support.records import PERSON

OTHER = replace(PERSON, user="bob", uid=1001)


def play(directory: Path, act: Callable[[ProcessNotes, Registry], Awaitable[None]]) -> list[Event]:
    """What is in the journal afterwards."""

    async def run() -> list[Event]:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        notes = ProcessNotes(registry)
        try:
            await asyncio.wait_for(act(notes, registry), 30)
            await notes.settled()
            return list(await store.events(last=1000))
        finally:
            await store.close()

    return asyncio.run(run())


def event(name: str) -> NewEvent:
    return NewEvent(event=name, team="shop", agent="a")


def test_order_and_author_are_kept_however_many_there_are(tmp_path: Path) -> None:
    async def act(notes: ProcessNotes, _: Registry) -> None:
        for number in range(300):
            notes.add(PERSON if number % 7 else OTHER, event(f"e{number}"))

    journal = play(tmp_path, act)
    assert [entry.event for entry in journal] == [f"e{number}" for number in range(300)]
    assert [entry.who.user for entry in journal] == [("ann" if number % 7 else "bob") for number in range(300)]


def test_what_others_write_later_comes_later(tmp_path: Path) -> None:
    async def act(notes: ProcessNotes, registry: Registry) -> None:
        notes.add(PERSON, event("process.started"))
        await asyncio.sleep(0)
        await registry.observe((), [event("process.ended")])

    assert [entry.event for entry in play(tmp_path, act)] == ["process.started", "process.ended"]


def test_what_is_written_to_a_process_is_added_up(tmp_path: Path) -> None:
    async def act(notes: ProcessNotes, _: Registry) -> None:
        for _turn in range(50):
            notes.add_written(PERSON, "shop", "a", "p1", 2)
        notes.add_written(OTHER, "shop", "a", "p1", 5)
        notes.add(PERSON, event("process.killed"))
        notes.add_written(PERSON, "shop", "a", "p1", 1)

    told = [(entry.event, entry.who.user, entry.data.get("bytes")) for entry in play(tmp_path, act)]
    assert told == [
        ("process.written", "ann", 100),
        ("process.written", "bob", 5),
        ("process.killed", "ann", None),
        ("process.written", "ann", 1),
    ]
