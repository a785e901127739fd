"""A reader of the log gets every entry once and in order, is told if it comes too late, and only then."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.domain.errors import CorralError, RefusedError
from corral.ports.store import Entry
from corral.service import ledger as ledgers
from corral.service.ledger import Ledger
from tests.unit.service.test_ledger import Disk, change, opened


async def tell(ledger: Ledger, topic: str, value: str = "") -> int:
    revision = ledger.next_revision()
    await ledger.write(change(log=[Entry(revision, "shop", topic, 0.0, value.encode())]))
    return revision


def play(directory: Path, act: Callable[[Disk, Ledger], Awaitable[None]]) -> None:
    async def run() -> None:
        store = await opened(directory)
        ledger = Ledger(store)
        await ledger.load()
        try:
            await asyncio.wait_for(act(store, ledger), 60)
        finally:
            await store.close()

    asyncio.run(run())


def test_pages_and_what_comes_while_they_are_read_are_one_sequence(tmp_path: Path) -> None:
    async def act(_store: Disk, ledger: Ledger) -> None:
        told = [await tell(ledger, "t") for _ in range(7)]
        await tell(ledger, "other")
        seen = []
        async with contextlib.aclosing(ledger.follow(0, team="shop", topic="t", page=3)) as entries:
            for number in range(20):
                seen.append((await anext(entries)).revision)
                if number < 13:
                    told.append(await tell(ledger, "t"))
                    await tell(ledger, "other")
            assert seen == told
            coming = asyncio.ensure_future(anext(entries))
            await tell(ledger, "other")
            last = await tell(ledger, "t")
            assert (await coming).revision == last

    play(tmp_path, act)


def test_nothing_is_read_for_what_others_write(tmp_path: Path) -> None:
    class Counted(Disk):
        reads = 0

        async def log(self, *, after: int, team: str = "", topic: str = "", limit: int = 1000) -> list[Entry]:
            self.reads += 1
            return await super().log(after=after, team=team, topic=topic, limit=limit)

    async def run() -> None:
        store = await Counted.open(str(tmp_path / "corral.db"))
        assert isinstance(store, Counted)
        ledger = Ledger(store)
        await ledger.load()
        async with contextlib.aclosing(ledger.follow(0, team="shop", topic="t", page=3)) as entries:
            coming = asyncio.ensure_future(anext(entries))
            for _ in range(20):
                await tell(ledger, "other")
            assert store.reads == 1
            await tell(ledger, "t")
            await coming
            assert store.reads == 2
        await store.close()

    asyncio.run(run())


@pytest.fixture
def _short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "KEPT_ENTRIES", 10)
    monkeypatch.setattr(ledgers, "_SLACK", 5)


@pytest.mark.usefixtures("_short_log")
def test_a_reader_of_a_quiet_topic_is_not_late_because_others_write_much(tmp_path: Path) -> None:
    async def act(_store: Disk, ledger: Ledger) -> None:
        await tell(ledger, "t")
        async with contextlib.aclosing(ledger.follow(0, team="shop", topic="t", page=3)) as entries:
            await anext(entries)
            coming = asyncio.ensure_future(anext(entries))
            for _ in range(50):
                await tell(ledger, "other")
            last = await tell(ledger, "t")
            assert (await coming).revision == last

    play(tmp_path, act)


@pytest.mark.usefixtures("_short_log")
def test_a_reader_that_is_too_slow_is_told_and_never_given_a_gap(tmp_path: Path) -> None:
    async def act(_store: Disk, ledger: Ledger) -> None:
        told = [await tell(ledger, "t") for _ in range(4)]
        async with contextlib.aclosing(ledger.follow(0, team="shop", topic="t", page=2)) as entries:
            seen = [(await anext(entries)).revision]
            for _ in range(30):
                await tell(ledger, "t")
            seen.append((await anext(entries)).revision)  # of the page that it has
            with pytest.raises(RefusedError, match="not kept any more"):
                await anext(entries)
            assert seen == told[:2]

    play(tmp_path, act)


@pytest.mark.usefixtures("_short_log")
def test_what_goes_while_a_reader_waits_for_its_turn_is_no_gap_either(tmp_path: Path) -> None:
    class Slow(Disk):
        turn = asyncio.Event()

        async def log(self, *, after: int, team: str = "", topic: str = "", limit: int = 1000) -> list[Entry]:
            if team:  # the ledger itself does not wait
                await self.turn.wait()
            return await super().log(after=after, team=team, topic=topic, limit=limit)

    async def run() -> None:
        store = await Slow.open(str(tmp_path / "corral.db"))
        assert isinstance(store, Slow)
        ledger = Ledger(store)
        await ledger.load()
        await tell(ledger, "t")
        reading = asyncio.ensure_future(ledger.after(0, team="shop", topic="t"))
        for _ in range(30):
            await tell(ledger, "t")
        assert not reading.done()
        store.turn.set()
        with pytest.raises(RefusedError, match="not kept any more"):
            await reading
        await store.close()

    asyncio.run(run())


def test_what_is_settled_is_on_the_disk_and_what_was_refused_never_was(tmp_path: Path) -> None:
    async def act(store: Disk, ledger: Ledger) -> None:
        first = await tell(ledger, "t")
        assert ledger.settled == first
        writing = asyncio.ensure_future(tell(ledger, "t"))
        await asyncio.sleep(0)
        assert (ledger.revision, ledger.settled) == (first + 1, first)
        await ledger.caught_up()
        assert ledger.settled == await writing
        store.full = True
        refused = asyncio.ensure_future(tell(ledger, "t"))
        await asyncio.sleep(0)
        with pytest.raises(CorralError):
            await ledger.caught_up()
        with pytest.raises(CorralError):
            await refused
        assert ledger.settled == first + 1
        store.full = False
        await ledger.caught_up()  # nothing is in doubt: nothing is written for it
        last = await tell(ledger, "t")
        assert ledger.settled == last == first + 3

    play(tmp_path, act)
