"""The log is bounded by what its entries say, too: a few large ones must not fill a disk."""

import asyncio
from pathlib import Path

import pytest

from corral.domain.errors import RefusedError
from corral.ports.store import Entry
from corral.service import ledger as ledgers
from corral.service.ledger import Ledger
from tests.unit.service.test_ledger import change, opened


def test_large_entries_go_before_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "KEPT_BYTES", 1000)
    monkeypatch.setattr(ledgers, "_SLACK_BYTES", 200)

    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        await ledger.load()
        for number in range(60):
            revision = ledger.next_revision()
            await ledger.write(change(log=[Entry(revision, "shop", "t", 0.0, b"x" * (10 + number))]))
            assert (await store.log_sizes())[""].bytes < 1300
        kept = await store.log(after=0)
        assert [entry.revision for entry in kept] == list(range(61 - len(kept), 61))
        assert sum(len(entry.value) for entry in kept) >= 1000 - 70
        with pytest.raises(RefusedError):
            await ledger.after(kept[0].revision - 2, team="shop", topic="t")
        assert await ledger.after(kept[0].revision - 1, team="shop", topic="t") == kept
        await store.close()

    asyncio.run(run())


def test_one_that_is_larger_than_all_that_is_kept_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "KEPT_BYTES", 100)
    monkeypatch.setattr(ledgers, "_SLACK_BYTES", 10)

    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        await ledger.load()
        for _ in range(3):
            await ledger.write(change(log=[Entry(ledger.next_revision(), "shop", "t", 0.0, b"x" * 500)]))
        assert [entry.revision for entry in await store.log(after=0)] == [3]
        await store.close()

    asyncio.run(run())
