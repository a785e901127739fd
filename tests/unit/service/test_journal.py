"""Reading the journal: from where one wants, without a gap and without a repeat."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import NotFoundError
from corral.domain.records import SUPERVISOR, Event, NewEvent
from corral.places import Places
from corral.service.context import Context
from corral.service.journal import Awaited, Journal
from corral.supervise.registry import Registry

if TYPE_CHECKING:
    from corral.supervise.supervisor import Supervisor


def _now() -> float:
    return 0.0


async def _tell(registry: Registry, *names: str, team: str = "", agent: str = "") -> None:
    for name in names:
        await registry.commit(SUPERVISOR, events=[NewEvent(event=name, team=team, agent=agent)])


async def _next(events: AsyncIterator[Event | Awaited]) -> str:
    return _told(await asyncio.wait_for(anext(events), 5))


def _told(entry: Event | Awaited) -> str:
    return f"awaited {entry.awaited}" if isinstance(entry, Awaited) else entry.event


def _with_journal(directory: Path, act: Callable[[Journal, Registry], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, _now, str(directory / "at-rest"))
        places = Places(str(directory), str(directory))
        supervisor = cast("Supervisor", None)  # a reader has no need of it
        journal = Journal(Context(registry=registry, supervisor=supervisor, store=store, places=places, now=_now))
        try:
            await act(journal, registry)
        finally:
            await store.close()

    asyncio.run(run())


def test_following_from_the_end_begins_with_what_happens_next(tmp_path: Path) -> None:
    async def act(journal: Journal, registry: Registry) -> None:
        await _tell(registry, "one", "two")
        following = journal.read(last=0, follow=True)
        first = asyncio.ensure_future(_next(following))
        await asyncio.sleep(0.05)
        assert not first.done()
        await _tell(registry, "three", "four")
        assert [await first, await _next(following)] == ["three", "four"]
        assert [_told(event) async for event in journal.read(last=0)] == []
        assert [_told(event) async for event in journal.read(last=1)] == ["four"]

    _with_journal(tmp_path, act)


def test_a_name_that_nothing_ever_happened_to_is_not_found(tmp_path: Path) -> None:
    async def act(journal: Journal, registry: Registry) -> None:
        await _tell(registry, "one", team="shop", agent="a")
        await journal.must_know(team="", agent="")
        for team, agent in (("shop", ""), ("", "a"), ("shop", "a")):
            await journal.must_know(team=team, agent=agent)
        for team, agent in (("toys", ""), ("", "nope"), ("shop", "nope"), ("toys", "a")):
            with pytest.raises(NotFoundError):
                await journal.must_know(team=team, agent=agent)
        # What is known and has nothing to tell is another matter.
        assert [_told(event) async for event in journal.read(agent="a", after=1)] == []

    _with_journal(tmp_path, act)


def test_who_follows_a_name_that_is_yet_to_come_is_told_and_waits(tmp_path: Path) -> None:
    async def act(journal: Journal, registry: Registry) -> None:
        await _tell(registry, "one", team="shop", agent="a")
        following = journal.read(team="shop", agent="b", follow=True)
        assert await _next(following) == "awaited shop/b"
        coming = asyncio.ensure_future(_next(following))
        await _tell(registry, "two", team="shop", agent="a")
        await _tell(registry, "three", team="shop", agent="b")
        assert await coming == "three"
        assert await _next(journal.read(team="shop", agent="b", follow=True)) == "three"

    _with_journal(tmp_path, act)
