"""Reading the journal: from where one wants, without a gap and without a repeat."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import NotFoundError
from corral.domain.records import SUPERVISOR, Event, NewEvent
from corral.places import Places
from corral.ports.store import Change
from corral.service.context import Context
from corral.service.journal import Awaited, Journal
from corral.service.ledger import Ledger
from corral.service.witness import WitnessedStore
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


def test_events_of_some_names_only(tmp_path: Path) -> None:
    async def act(journal: Journal, registry: Registry) -> None:
        await _tell(registry, "agent.started", "inbox.opened", "agent.exited", "team.up", team="shop", agent="a")

        async def read(*named: str, last: int | None = None, agent: str = "") -> list[str]:
            team = "shop" if agent else ""
            return [_told(event) async for event in journal.read(named=named, last=last, team=team, agent=agent)]

        assert await read("agent.*") == await read("agent.*", agent="a") == ["agent.started", "agent.exited"]
        assert await read("agent.*", last=1) == await read("agent.*", last=1, agent="a") == ["agent.exited"]
        assert await read("*.up", "inbox.opened") == ["inbox.opened", "team.up"]
        assert await read("agent") == []
        assert len(await read()) == 4

    _with_journal(tmp_path, act)


def test_following_events_of_some_names_goes_past_the_others_once(tmp_path: Path) -> None:
    async def act(journal: Journal, registry: Registry) -> None:
        await _tell(registry, "agent.started", "one", "two")
        asked: list[int | None] = []
        events = journal._store.events  # what the store is asked for is what it costs

        async def counted(**about: Any) -> list[Event]:
            asked.append(about.get("after"))
            return await events(**about)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal._store, "events", counted)
            following = journal.read(named=["agent.*"], follow=True)
            assert await _next(following) == "agent.started"
            next_one = asyncio.ensure_future(_next(following))
            for name in ("three", "four"):
                await asyncio.sleep(0.05)
                await _tell(registry, name)
            await asyncio.sleep(0.05)
            assert not next_one.done()
            await _tell(registry, "agent.exited")
            assert await next_one == "agent.exited"
            assert max(after for after in asked if after is not None) >= 5

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


def test_whoever_follows_hears_at_once_of_what_others_than_the_registry_write(tmp_path: Path) -> None:
    async def run() -> None:
        store = WitnessedStore(await SqliteStore.open(str(tmp_path / "corral.db")))
        registry = Registry(store, _now, str(tmp_path / "at-rest"))
        store.listen(registry.hear)
        supervisor = cast("Supervisor", None)  # a reader has no need of it
        places = Places(str(tmp_path), str(tmp_path))
        journal = Journal(Context(registry=registry, supervisor=supervisor, store=store, places=places, now=_now))
        ledger = Ledger(store)
        await ledger.load()
        try:
            following = asyncio.ensure_future(_next(journal.read(last=0, follow=True)))
            await asyncio.sleep(0.05)
            await ledger.write(Change(who=SUPERVISOR, time=0.0, events=[NewEvent(event="inbox.opened")]))
            assert await following == "inbox.opened"
        finally:
            await store.close()

    asyncio.run(run())
