"""Reading the journal: from where one wants, without a gap and without a repeat."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.records import SUPERVISOR, Event, NewEvent
from corral.places import Places
from corral.service.context import Context
from corral.service.journal import Journal
from corral.supervise.registry import Registry

if TYPE_CHECKING:
    from corral.supervise.supervisor import Supervisor


def _now() -> float:
    return 0.0


async def _tell(registry: Registry, *names: str) -> None:
    for name in names:
        await registry.commit(SUPERVISOR, events=[NewEvent(event=name)])


async def _next(events: AsyncIterator[Event]) -> str:
    return (await asyncio.wait_for(anext(events), 5)).event


def test_following_from_the_end_begins_with_what_happens_next(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(tmp_path / "corral.db"))
        registry = Registry(store, _now, str(tmp_path / "at-rest"))
        places = Places(str(tmp_path), str(tmp_path))
        supervisor = cast("Supervisor", None)  # a reader has no need of it
        journal = Journal(Context(registry=registry, supervisor=supervisor, store=store, places=places, now=_now))
        try:
            await _tell(registry, "one", "two")
            following = journal.read(last=0, follow=True)
            first = asyncio.ensure_future(_next(following))
            await asyncio.sleep(0.05)
            assert not first.done()
            await _tell(registry, "three", "four")
            assert [await first, await _next(following)] == ["three", "four"]
            assert [event.event async for event in journal.read(last=0)] == []
            assert [event.event async for event in journal.read(last=1)] == ["four"]
        finally:
            await store.close()

    asyncio.run(run())
