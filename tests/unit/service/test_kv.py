"""Nobody is told of a value, or refused for one, before it is on the disk: a crash could still undo it."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from corral.adapters.sqlite.store import SqliteStore, StoreError
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.kv import Transaction
from corral.ports.store import Change
from corral.service.context import Context
from corral.service.kv import Kv
from corral.service.ledger import Ledger
from tests.support.records import PERSON, TEAM

FIRST = Transaction(puts={"k": b"1"})


class Disk(SqliteStore):
    """A store that writes when it is let, and cannot if it is full."""

    gate: asyncio.Event
    full = False

    async def commit(self, *changes: Change) -> None:
        await self.gate.wait()
        if self.full:
            raise StoreError("the disk is full")
        await super().commit(*changes)


async def opened(directory: Path) -> tuple[Disk, Kv]:
    disk = await Disk.open(str(directory / "corral.db"))
    assert isinstance(disk, Disk)
    disk.gate = asyncio.Event()
    disk.gate.set()
    ledger = Ledger(disk)
    kv = Kv(cast(Context, SimpleNamespace(store=disk, now=lambda: 1.0)), ledger)
    await ledger.load()
    return disk, kv


async def waits_for_the_disk(disk: Disk, deciding: Awaitable[Any], asking: Awaitable[Any]) -> Any:
    """What is answered to somebody who asks while a decision is on its way; it must not come before that is there."""
    disk.gate.clear()
    decided = asyncio.ensure_future(deciding)
    await asyncio.sleep(0)
    asked = asyncio.ensure_future(asking)
    for _ in range(20):
        await asyncio.sleep(0)
    assert not asked.done()
    disk.gate.set()
    await asyncio.gather(decided, return_exceptions=True)
    return await asked


def test_a_value_is_seen_when_it_is_on_the_disk(tmp_path: Path) -> None:
    async def act() -> None:
        disk, kv = await opened(tmp_path)
        found = await waits_for_the_disk(disk, kv.transact(PERSON, TEAM, FIRST), kv.get(TEAM, "k"))
        assert found.value == b"1"
        listed, revision = await waits_for_the_disk(disk, kv.transact(PERSON, TEAM, FIRST), kv.below(TEAM, ""))
        assert [value.revision for _, value in listed] == [revision]
        await disk.close()

    asyncio.run(act())


def test_that_a_value_is_gone_is_told_when_that_is_on_the_disk(tmp_path: Path) -> None:
    async def act() -> None:
        disk, kv = await opened(tmp_path)
        await kv.transact(PERSON, TEAM, FIRST)
        with pytest.raises(NotFoundError):
            await waits_for_the_disk(disk, kv.transact(PERSON, TEAM, Transaction(drops=["k"])), kv.get(TEAM, "k"))
        await disk.close()

    asyncio.run(act())


def test_a_compare_is_lost_to_what_is_on_the_disk(tmp_path: Path) -> None:
    async def act() -> None:
        disk, kv = await opened(tmp_path)
        second = Transaction(puts={"k": b"2"}, if_revisions={"k": 0})
        with pytest.raises(RefusedError):
            await waits_for_the_disk(disk, kv.transact(PERSON, TEAM, FIRST), kv.transact(PERSON, TEAM, second))
        await disk.close()

    asyncio.run(act())


def test_nobody_is_told_of_what_could_not_be_written(tmp_path: Path) -> None:
    async def act() -> None:
        disk, kv = await opened(tmp_path)
        disk.full = True
        with pytest.raises(StoreError):
            await waits_for_the_disk(disk, kv.transact(PERSON, TEAM, FIRST), kv.get(TEAM, "k"))
        with pytest.raises(NotFoundError):
            await kv.get(TEAM, "k")
        await disk.close()

    asyncio.run(act())


def test_who_reads_what_is_on_the_disk_does_not_wait(tmp_path: Path) -> None:
    async def act() -> None:
        disk, kv = await opened(tmp_path)
        await kv.transact(PERSON, TEAM, FIRST)
        disk.gate.clear()
        assert (await kv.get(TEAM, "k")).value == b"1"
        disk.gate.set()
        await disk.close()

    asyncio.run(act())


def test_a_revision_that_nobody_was_told_of_is_not_waited_for(tmp_path: Path) -> None:
    async def act() -> None:
        disk, kv = await opened(tmp_path)
        revision, _ = await kv.transact(PERSON, TEAM, FIRST)
        assert await kv.changes(TEAM, "", revision, 0) == ([], revision)
        for after in (revision + 1, 10**9, -1):
            with pytest.raises(WrongUseError, match=f"there is no revision {after}"):
                await kv.changes(TEAM, "", after, 30)
            with pytest.raises(WrongUseError, match=f"there is no revision {after}"):
                await anext(kv.watch(TEAM, "", after))
        await disk.close()

    asyncio.run(act())
