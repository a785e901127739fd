"""Where decisions become durable: all that came while the last write was under way is written in one transaction.

Whoever decides something changes its state in memory, takes a revision for it, and waits for `write`. When that
returns, the decision is on the disk and may be told. If the store refuses, it never was: see `Ledger.keep`.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence

from corral.background import Background
from corral.domain.errors import CorralError, RefusedError, WrongUseError
from corral.domain.records import SUPERVISOR
from corral.domain.shares import given_up
from corral.ports.store import Change, Entry, Item, LogSize, Oldest, Store
from corral.service.following import Place
from corral.service.shares import Shares
from corral.service.unexpected import not_written

_KIND, _KEY = "ledger", "revision"
#: The last revision that was given out, and up to which an earlier version dropped the log.
_NUMBERS = struct.Struct(">QQ")
#: By team, the last revision of it that was dropped from the log.
_FLOOR = "log floor"
#: Entries of the log that are kept, and how many more there may be before the oldest go of who has the most.
KEPT_ENTRIES, _SLACK = 100_000, 1_000
#: The same for the bytes of what they say.
KEPT_BYTES, _SLACK_BYTES = 256 << 20, 8 << 20

#: A write waits for company as long as so many writes take, and never longer than so many seconds.
_PATIENCE, _LONGEST_WAIT = 3.0, 0.003

#: Reads a state from the store, and gives back what puts it in the place of the one in memory, without waiting.
Read = Callable[[], Awaitable[Callable[[], None]]]


class Ledger:
    """The way of every decision to the disk."""

    def __init__(self, store: Store, shares: Shares | None = None) -> None:
        self._store = store
        #: In which counts what is written; without them, all is one person's.
        self.shares = shares or Shares()
        self._states: list[Read] = []
        self._revision = 0
        self._settled = 0
        self._dropped_before = 0
        #: By team, up to where the log may have gaps.
        self._floors: dict[str, int] = {}
        #: What is in the log, by person and together.
        self._sizes: dict[str, LogSize] = {}
        self._log = LogSize()
        #: Why what is in memory may not be what is on the disk.
        self._doubt: CorralError | None = None
        self._line: list[tuple[Change, asyncio.Future[None]]] = []
        self._writing = False
        #: How many will be in line again soon, and until when that may be thought.
        self._expected, self._expected_until = 0, 0.0
        #: Somebody waits for the line to be as long as expected.
        self._complete: asyncio.Future[None] | None = None
        self._background = Background()
        self._grew = asyncio.Event()
        self._places: set[Place] = set()

    def keep(self, read: Read) -> None:
        """Have a state read at the start, and again whenever a write was refused: then it has what never was."""
        self._states.append(read)

    async def load(self) -> None:
        """Read how far it got, and every state that is kept."""
        for item in await self._store.items(_KIND):
            self._revision, self._dropped_before = _NUMBERS.unpack(item.value)
        self._floors = {item.key: int(item.value) for item in await self._store.items(_FLOOR)}
        self._settled = self._revision
        self._sizes = await self._store.log_sizes()
        self._log = _together(self._sizes.values())
        for put in [await read() for read in self._states]:
            put()

    @property
    def revision(self) -> int:
        """The last one that was given out."""
        return self._revision

    @property
    def settled(self) -> int:
        """Every decision up to this one is on the disk, or never was."""
        return self._settled

    def known(self, revision: int) -> int:
        """The revision, if there can be one to follow from; else `WrongUseError`: nobody has been told of it."""
        if revision < 0:
            raise WrongUseError(f"there is no revision {revision}", "0 is before the first")
        if revision > self._revision:
            raise WrongUseError(
                f"there is no revision {revision} yet: the last one is {self._revision}",
                "give one that was told here, or none for what comes from now on",
            )
        return revision

    def next_revision(self) -> int:
        """A number that is greater than every one before, for a decision that is about to be written.

        Nothing may be waited for between this and `write`: decisions are written in the order of their numbers.
        """
        self._revision += 1
        return self._revision

    # Writing

    def submit(self, change: Change) -> asyncio.Future[None]:
        """Put a change in line at once; done when it is on the disk, or with what the store says, as `write`."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append((change, written))
        if not self._writing:
            self._writing = True
            self._background.spawn(self._write_all(), name="ledger")
        elif self._complete is not None and len(self._line) >= self._expected:
            _resolve(self._complete)
        return written

    async def write(self, change: Change) -> None:
        """Return when the change is on the disk. Raises what the store says, and then nothing of it holds."""
        # Whoever decided may go away; what was decided is written all the same.
        await asyncio.shield(self.submit(change))

    async def caught_up(self) -> None:
        """Return when all that was decided before is on the disk. Raises if it is not, and then it never was.

        For whoever finds that what it was about to decide is so already.
        """
        if self._writing or self._doubt is not None:
            await self.write(Change(who=SUPERVISOR, time=0.0))

    async def _write_all(self) -> None:
        try:
            while self._line:
                await self._company()
                line, self._line = self._line, []
                began = time.monotonic()
                # Each of these numbers is of something in this line or in one before it.
                given_out = self._revision
                try:
                    if self._doubt is not None:
                        raise self._doubt
                    await self._write([change for change, _ in line])
                except Exception as error:  # whatever it is: they wait for an answer
                    await self._refuse(line, not_written(error, "what was decided"))
                    continue
                self._settled = given_out
                for _, written in line:
                    _resolve(written)
                self._expected = len(line) + len(self._line)
                now = time.monotonic()
                self._expected_until = now + min(_PATIENCE * (now - began), _LONGEST_WAIT)
                topics = {(entry.team, entry.topic) for change, _ in line for entry in change.log}
                for place in self._places:
                    place.heard(topics, given_out)
                self._grew.set()
                self._grew = asyncio.Event()
        finally:
            self._writing = False

    async def _company(self) -> None:
        """Wait a moment for those who were just told, if there were several: mostly they ask again at once.

        A transaction costs nearly the same whatever is in it. Without this, those who ask part into two groups, each of
        which is written while the other one asks, in twice as many transactions.
        """
        missing, seconds = self._expected - len(self._line), self._expected_until - time.monotonic()
        if missing <= 0 or seconds <= 0:
            return
        loop = asyncio.get_running_loop()
        self._complete = loop.create_future()
        alarm = loop.call_later(seconds, _resolve, self._complete)
        try:
            await self._complete
        finally:
            alarm.cancel()
            self._complete = None

    async def _write(self, changes: Sequence[Change]) -> None:
        last, told = changes[-1], _told_by(changes)
        oldest = await self._too_much(told)
        floors: dict[str, int] = {}
        for one in oldest.values():
            for team, revision in one.teams.items():
                floors[team] = max(revision, floors.get(team, 0))
        numbers = Item(_KIND, _KEY, _NUMBERS.pack(self._revision, self._dropped_before))
        await self._store.commit(
            *changes,
            Change(
                who=last.who,
                time=last.time,
                put_items=[numbers, *(Item(_FLOOR, team, b"%d" % revision) for team, revision in floors.items())],
                trim_log=[(person, one.revision) for person, one in oldest.items()],
            ),
        )
        for team, revision in floors.items():
            self._floors[team] = max(revision, self._floors.get(team, 0))
        for person, size in told.items():
            self._sizes[person] = _together((self._sizes.get(person, LogSize()), size))
        for person, one in oldest.items():
            has = self._sizes[person]
            self._sizes[person] = LogSize(has.entries - one.size.entries, has.bytes - one.size.bytes)
        if told:
            self._log = _together(self._sizes.values())

    async def _too_much(self, told: Mapping[str, LogSize]) -> dict[str, Oldest]:
        """By person, what has to go from the log; nothing if there is room. What is about to be written stays."""
        together = _together((self._log, *told.values()))
        if together.entries < KEPT_ENTRIES + _SLACK and together.bytes < KEPT_BYTES + _SLACK_BYTES:
            return {}
        grown = {
            person: _together((self._sizes.get(person, LogSize()), told.get(person, LogSize())))
            for person in self._sizes.keys() | told.keys()
        }
        entries = given_up({person: size.entries for person, size in grown.items()}, KEPT_ENTRIES)
        sizes = given_up({person: size.bytes for person, size in grown.items()}, KEPT_BYTES)
        return {
            person: await self._store.oldest_in_log(person, LogSize(entries.get(person, 0), sizes.get(person, 0)))
            for person in entries.keys() | sizes.keys()
        }

    async def _refuse(self, line: Sequence[tuple[Change, asyncio.Future[None]]], error: CorralError) -> None:
        """Nothing of the line was written, so nothing of it is: what is in memory is read again."""
        self._doubt = error
        states: list[Callable[[], None]] = []
        try:
            states = [await read() for read in self._states]
            self._doubt = None
        except Exception as worse:
            error = not_written(worse, "what was decided")  # nothing is decided until it can be read
        # Everything behind it was decided as if it had been written. A number that was given out is not used again.
        behind, self._line = self._line, []
        for put in states:
            try:
                put()  # what follows from what was read comes after all that never was
            except Exception as worse:  # the others are read again all the same, and whoever waits is answered
                self._doubt = error = not_written(worse, "what was decided")
        for _, written in (*line, *behind):
            if not written.done():
                written.set_exception(error)
                written.exception()  # whoever waited may have gone away

    # Following

    async def after(self, revision: int, *, team: str, topic: str, limit: int = 1000) -> list[Entry]:
        """What is in the log after a revision. Raises `RefusedError` if some of that is no longer there."""
        self._check_kept(revision, team)
        found = await self._store.log(after=revision, team=team, topic=topic, limit=limit)
        # The oldest may have gone while this waited for its turn.
        self._check_kept(revision, team)
        return found

    def _check_kept(self, revision: int, team: str) -> None:
        floor = max(self._dropped_before, self._floors.get(team, 0))
        if revision < floor:
            raise RefusedError(
                f"what came after revision {revision} is not kept any more",
                f"read what there is now, and follow from revision {floor} on",
            )

    async def follow(self, after: int, *, team: str, topic: str, page: int) -> AsyncGenerator[Entry, None]:
        """Every entry after a revision, each once and in order, for as long as it is heard; `page` at a time are read.

        Raises as `after` does if the reader is so slow that some are gone before it asked for them.
        """
        place = Place(team, topic, after)
        self._places.add(place)
        try:
            async for entry in place.entries(
                lambda cursor: self.after(cursor, team=team, topic=topic, limit=page), lambda: self._settled, page
            ):
                yield entry
        finally:
            self._places.discard(place)

    async def growth(self) -> None:
        """Wait until something was written after this call."""
        await self._grew.wait()


def _told_by(changes: Sequence[Change]) -> dict[str, LogSize]:
    """What these add to the log, by person."""
    told: dict[str, LogSize] = {}
    for change in changes:
        for entry in change.log:
            has = told.get(entry.person, LogSize())
            told[entry.person] = LogSize(has.entries + 1, has.bytes + len(entry.value))
    return told


def _together(sizes: Iterable[LogSize]) -> LogSize:
    entries, total = 0, 0
    for size in sizes:
        entries, total = entries + size.entries, total + size.bytes
    return LogSize(entries, total)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
