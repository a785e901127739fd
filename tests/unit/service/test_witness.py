"""Whoever listens hears of all that is written, after whoever wrote it has gone on, and of nothing that is not."""

import asyncio
from pathlib import Path
from typing import Never

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import CorralError
from corral.domain.records import NewEvent
from corral.ports.store import Change
from corral.service.witness import WitnessedStore
from tests.support.records import PERSON


def _change(event: str) -> Change:
    return Change(who=PERSON, time=1.0, events=[NewEvent(event=event, team="shop")])


def test_it_is_heard_after_the_writer_went_on(tmp_path: Path) -> None:
    async def run() -> None:
        store = WitnessedStore(await SqliteStore.open(str(tmp_path / "db")))
        order: list[str] = []
        store.listen(lambda changes: order.extend(new.event for change in changes for new in change.events))
        await store.commit(_change("a"), _change("b"))
        order.append("written")
        await asyncio.sleep(0)
        assert order == ["written", "a", "b"]
        assert [event.event for event in await store.events()] == ["a", "b"]
        await store.close()

    asyncio.run(run())


def test_what_was_refused_is_not_heard_of(tmp_path: Path) -> None:
    class Full(SqliteStore):
        async def commit(self, *_: Change) -> Never:
            raise CorralError("the disk is full")

    async def run() -> None:
        store = WitnessedStore(await Full.open(str(tmp_path / "db")))
        heard: list[object] = []
        store.listen(heard.append)
        with pytest.raises(CorralError):
            await store.commit(_change("a"))
        await asyncio.sleep(0)
        assert heard == []
        await store.close()

    asyncio.run(run())
