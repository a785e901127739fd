"""What was told is on the disk, numbers only grow, and what could not be written never was."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore, StoreError
from corral.domain.errors import CorralError, RefusedError
from corral.ports.store import Change, Entry, Item
from corral.service import ledger as ledgers
from corral.service.ledger import Ledger
from tests.support.records import PERSON


class Disk(SqliteStore):
    """A store that counts its writes, on a disk that can be full, or slow."""

    full = False
    #: Whether there is no room for this, though there is for others.
    full_for: Callable[[Change], bool] = staticmethod(lambda _: False)
    unreadable = False
    commits = 0

    async def commit(self, *changes: Change) -> None:
        await asyncio.sleep(0)
        if self.full or any(map(self.full_for, changes)):
            raise StoreError("the disk is full")
        self.commits += 1
        await super().commit(*changes)

    async def items(self, kind: str) -> list[Item]:
        if self.unreadable:
            raise StoreError("the disk is gone")
        return await super().items(kind)


async def opened(directory: Path) -> Disk:
    disk = await Disk.open(str(directory / "corral.db"))
    assert isinstance(disk, Disk)
    return disk


def change(**parts: object) -> Change:
    return Change(who=PERSON, time=1.0, **parts)  # type: ignore[arg-type]


class Counter:
    """A state: how many things there are."""

    def __init__(self, store: Disk, ledger: Ledger) -> None:
        self.known: set[str] = set()
        self._store = store
        self._ledger = ledger
        ledger.keep(self._read)

    async def _read(self) -> Callable[[], None]:
        found = {item.key for item in await self._store.items("thing")}

        def put() -> None:
            self.known = found

        return put

    async def add(self, name: str) -> int:
        revision = self._ledger.next_revision()
        self.known.add(name)
        await self._ledger.write(change(put_items=[Item("thing", name, b"")]))
        return revision


def test_what_comes_while_a_write_is_under_way_shares_the_next(tmp_path: Path) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        revisions = await asyncio.gather(*(counter.add(f"{number}") for number in range(100)))
        assert revisions == list(range(1, 101))
        assert store.commits <= 3
        assert len(await store.items("thing")) == 100
        await store.close()

    asyncio.run(run())


def test_those_who_ask_again_and_again_come_to_be_written_together(tmp_path: Path) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()

        async def ask(who: int) -> None:
            for _ in range(3 * (who % 2)):
                await asyncio.sleep(0)  # half of them come while the others are being written
            for number in range(20):
                await counter.add(f"{who}.{number}")

        await asyncio.gather(*map(ask, range(8)))
        assert len(counter.known) == 160
        assert store.commits < 30, "two groups would make 40"
        await store.close()

    asyncio.run(run())


def test_nobody_who_asks_alone_is_kept_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_PATIENCE", 1e6)
    monkeypatch.setattr(ledgers, "_LONGEST_WAIT", 600.0)

    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        async with asyncio.timeout(60):
            for number in range(10):
                await counter.add(f"{number}")
        await store.close()

    asyncio.run(run())


def test_those_who_do_not_ask_again_are_not_waited_for_long(tmp_path: Path) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        await asyncio.gather(*(counter.add(f"{number}") for number in range(10)))
        async with asyncio.timeout(60):
            await counter.add("last")
        assert "last" in counter.known
        await store.close()

    asyncio.run(run())


def test_numbers_go_on_after_a_restart_and_none_is_used_again(tmp_path: Path) -> None:
    async def run() -> None:
        told: list[int] = []
        for _ in range(3):
            store = await opened(tmp_path)
            ledger = Ledger(store)
            counter = Counter(store, ledger)
            await ledger.load()
            told += [await counter.add(f"{len(told)}"), await counter.add(f"{len(told) + 1}")]
            assert len(counter.known) == len(told)
            await store.close()
        assert told == [1, 2, 3, 4, 5, 6]

    asyncio.run(run())


def test_what_could_not_be_written_never_was_and_neither_was_what_was_decided_after_it(tmp_path: Path) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        await counter.add("before")
        store.full = True
        outcomes = await asyncio.gather(*(counter.add(name) for name in ("a", "b")), return_exceptions=True)
        assert all(isinstance(outcome, StoreError) for outcome in outcomes)
        assert counter.known == {"before"}
        store.full = False
        assert await counter.add("after") > 3, "a number that was given out is not given out again"
        assert counter.known == {"before", "after"}
        await store.close()

    asyncio.run(run())


def test_a_write_that_fails_as_nobody_expects_is_told_to_who_waits_and_to_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Change) -> bool:
        raise ValueError("a mistake of ours")

    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        store.full_for = broken
        with pytest.raises(CorralError, match="ValueError"):
            await asyncio.wait_for(counter.add("a"), 10)
        assert counter.known == set()
        assert "a mistake of ours" in caplog.text
        caplog.clear()
        store.full_for = lambda _: False
        await counter.add("b")
        assert counter.known == {"b"}
        await store.close()

    asyncio.run(run())


def test_nothing_is_written_on_top_of_what_cannot_be_read_again(tmp_path: Path) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        store.full = store.unreadable = True
        with pytest.raises(StoreError):
            await counter.add("a")
        store.full = False
        with pytest.raises(StoreError):
            await counter.add("b")
        store.unreadable = False
        with pytest.raises(StoreError):  # it was decided by what may not be so
            await counter.add("c")
        assert counter.known == set()
        await counter.add("d")
        assert [item.key for item in await store.items("thing")] == ["d"]
        await store.close()

    asyncio.run(run())


def test_a_state_that_cannot_be_put_back_keeps_neither_others_from_that_nor_anybody_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        broken = [False]

        async def read() -> Callable[[], None]:
            def put() -> None:
                if broken[0]:
                    raise ValueError("what was read makes no sense")

            return put

        ledger.keep(read)
        counter = Counter(store, ledger)
        await ledger.load()
        await counter.add("one")
        store.full = broken[0] = True
        with pytest.raises(CorralError, match="what was decided could not be written down"):
            await asyncio.wait_for(counter.add("two"), 60)
        assert counter.known == {"one"}
        store.full = False
        with pytest.raises(CorralError, match="what was decided could not be written down"):
            await asyncio.wait_for(counter.add("three"), 60)  # as long as anything in memory may not be what is written
        broken[0] = False
        with pytest.raises(CorralError):
            await counter.add("four")
        await counter.add("five")
        assert counter.known == {"one", "five"}
        await store.close()

    asyncio.run(run())
    assert "makes no sense" in caplog.text


def test_one_who_goes_away_is_not_asked_whether_it_is_written(tmp_path: Path) -> None:
    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        counter = Counter(store, ledger)
        await ledger.load()
        leaving = asyncio.ensure_future(counter.add("a"))
        await asyncio.sleep(0)
        leaving.cancel()
        await counter.add("b")
        assert {item.key for item in await store.items("thing")} == {"a", "b"}
        await store.close()

    asyncio.run(run())


def test_the_log_is_bounded_and_whoever_asks_for_what_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "KEPT_ENTRIES", 10)
    monkeypatch.setattr(ledgers, "_SLACK", 5)

    async def run() -> None:
        store = await opened(tmp_path)
        ledger = Ledger(store)
        await ledger.load()
        for number in range(40):
            revision = ledger.next_revision()
            ledger.next_revision()  # of something that is in no log
            await ledger.write(change(log=[Entry(revision, "shop", "t", 0.0, str(number).encode())]))
            assert (await store.log_sizes())[""].entries < 16
        with pytest.raises(RefusedError, match="not kept any more"):
            await ledger.after(0, team="shop", topic="t")
        last = (await store.log(after=0))[0].revision
        entries = await ledger.after(last - 1, team="shop", topic="t")
        assert [entry.value for entry in entries] == [str(40 - len(entries) + n).encode() for n in range(len(entries))]
        assert len(entries) >= 10
        again = Ledger(store)
        await again.load()
        with pytest.raises(RefusedError):
            await again.after(0, team="shop", topic="t")
        await store.close()

    asyncio.run(run())
