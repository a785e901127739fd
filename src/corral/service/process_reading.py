"""Reading what processes wrote: from a cursor on, waited for, searched line by line, or followed as it comes.

Nothing is consumed: a cursor is all that a reader has, and readers do not know of each other. Every question that is
put to the keeper has an end, so one who goes away leaves nobody waiting for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from corral.domain.line_patterns import Pattern, Scan
from corral.domain.process_output import (
    BASE64,
    LONGEST_CHARACTER,
    TEXT,
    Shown,
    Stretch,
    as_base64,
    as_text,
    lines_as_text,
    page_pieces,
)
from corral.ports.processes import Execution, Process, Survivor
from corral.service.patience import PORTION_SECONDS, Patience
from corral.supervise.supervisor import Supervisor

#: How much is searched, or told to a follower, in one go: few milliseconds, in which the daemon does nothing else.
_AT_ONCE = 256 * 1024
#: A command that has ended while others hold its output open: how often a follower looks for more of it. The keeper
#: tells of output and of ends, and this one has ended.
_LATE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process is: its team, and the agent that has it."""

    team: str
    agent: str
    process: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What somebody wants to read."""

    after: int = 0
    #: Most bytes of output in the answer. Fewer than a character may have are taken for so many.
    limit: int
    #: Seconds until there is something, or the command has ended; None is for ever.
    wait: float | None = 0.0
    #: Wait for a line that matches.
    until: Pattern | None = None
    #: Only lines that match.
    keep: Pattern | None = None
    #: `BASE64`: the bytes as they are, also if they are text.
    encoding: str = TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What there was to read, and the process at that time."""

    process: Process
    shown: Shown
    survivors: Sequence[Survivor]
    #: Whether a line matched; None if nobody asked.
    matched: bool | None


class ProcessReader:
    """Reads output through whatever keeper there is."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def look(self, place: Place, after: int, limit: int, wait: float, *, late: bool = True) -> Execution:
        """A page from `after` on. `late`: what comes after the end of the command is waited for as well."""
        # A cursor outlives the keeper that gave it: the next one goes on where the last one ended.
        return await self._supervisor.insist(
            place.team,
            lambda keeper: keeper.read_process(
                place.team, place.agent, place.process, after=after, limit=limit, wait=wait, late=late
            ),
            [place.agent],
        )

    async def ends(self, place: Place, seen: Execution, limit: int) -> Shown:
        """All output, of which a first page was seen, or if that is too much its beginning and its end.

        The very last bytes are always there.
        """
        stretch = Stretch(0)
        _add(stretch, seen)
        end = seen.process.end
        if limit and stretch.next < end:
            half = max(limit // 2, LONGEST_CHARACTER)
            head = stretch.first(half)
            tail = Stretch(max(head.next, end - half))
            _add(tail, await self.look(place, tail.start, half, 0.0))
            stretch = head.followed_by(tail)
        return as_text(stretch, more=seen.process.running)

    async def read(self, place: Place, question: Question) -> Reading:
        """Output from a cursor on: once there is some, or the command has ended, or time is up.

        With a pattern to wait for, once a line matches; what is given ends with that line, and of more than `limit`
        bytes it is the beginning and the end. With lines to keep, once there is one.
        """
        cursor = _Cursor(question, bounded=True)
        patience = Patience(question.wait)
        while True:
            cursor.take_in(await self.look(place, cursor.read_to, cursor.room, patience.portion))
            if cursor.is_answered or not cursor.room:
                break
            if cursor.is_behind:
                continue
            if not cursor.process.running or patience.over:
                break
        return cursor.give_out(last=True)

    async def follow(self, place: Place, question: Question) -> AsyncIterator[Reading]:
        """Page after page, until nobody can write any more, or a line matched.

        There is one with `running` false as soon as the command has ended, and one at the end, be they empty or not.
        """
        cursor = _Cursor(question, bounded=False)
        ended = False
        while True:
            # An end that was not told yet is news, however long it was since.
            cursor.take_in(await self.look(place, cursor.read_to, _AT_ONCE, PORTION_SECONDS, late=ended))
            over = cursor.is_over
            reading = cursor.give_out(last=over)
            news = bool(reading.shown.output or reading.shown.omitted)
            ends_now = not ended and not reading.process.running
            if news or ends_now or over or reading.matched:
                yield reading
            if over or reading.matched:
                return
            ended = ended or ends_now
            if ended and not news:
                await asyncio.sleep(_LATE_SECONDS)


class _Cursor:
    """One reader: what it has read and not given out yet."""

    def __init__(self, question: Question, *, bounded: bool) -> None:
        self._question = question
        self._limit = max(question.limit, LONGEST_CHARACTER) if question.limit else 0
        self._bounded = bounded
        self._stretch = Stretch(question.after)
        self._searched = question.until is not None or question.keep is not None
        self._scan = Scan(
            question.after, until=question.until, keep=question.keep, limit=self._limit if bounded else None
        )
        self._seen: Execution | None = None

    @property
    def process(self) -> Process:
        assert self._seen is not None
        return self._seen.process

    @property
    def read_to(self) -> int:
        """Where the next page begins."""
        return self._stretch.next

    @property
    def room(self) -> int:
        """How much more may come; of what is searched nobody knows before it is there."""
        return _AT_ONCE if self._searched else self._limit - self._stretch.size

    @property
    def is_behind(self) -> bool:
        """There is more than was read."""
        return self.read_to < self.process.end

    @property
    def is_over(self) -> bool:
        """There is no more, and there will be none."""
        return not self.is_behind and not _grows(self.process)

    @property
    def is_answered(self) -> bool:
        """There is what somebody waits for."""
        if self._question.until is not None:
            return self._scan.done
        if self._question.keep is not None:
            # Of what is there already, all that there is room for.
            return self._scan.done or (bool(self._scan.kept) and not self.is_behind)
        # What has come may be no more than the beginning of a character.
        return self._as_shown().next > self._stretch.start

    def take_in(self, seen: Execution) -> None:
        """A page that was read."""
        self._seen = seen
        page = seen.page
        if self._searched:
            for position, data in page_pieces(self.read_to, page.data, omitted=page.omitted, gap_at=page.gap_at):
                self._scan.feed(position, data)
        if self._question.keep is not None:
            # The lines are kept, so the output need not be.
            self._stretch = Stretch(page.next)
        else:
            _add(self._stretch, seen)
            if self._searched and self._bounded:
                self._stretch = self._stretch.squeezed(self._limit)
        if self.is_over:
            self._scan.finish()

    def give_out(self, *, last: bool) -> Reading:
        """What there is, once; with `last`, nothing is waited for any longer."""
        assert self._seen is not None
        if last:
            self._scan.give_up()
        if self._question.keep is not None:
            lines, omitted = self._scan.take()
            shown = lines_as_text(lines, next_cursor=self._scan.next, omitted=omitted, encoding=self._question.encoding)
        else:
            shown = self._as_shown()
            self._stretch = self._stretch.since(shown.next)
        matched = None if self._question.until is None else self._scan.matched
        return Reading(process=self.process, shown=shown, survivors=self._seen.survivors, matched=matched)

    def _as_shown(self) -> Shown:
        stretch = self._stretch.until(self._scan.next) if self._scan.matched else self._stretch
        if self._question.encoding == BASE64:
            return as_base64(stretch)
        return as_text(stretch, more=self._scan.matched or self.is_behind or _grows(self.process))


def _add(stretch: Stretch, seen: Execution) -> None:
    page = seen.page
    stretch.add_page(page.data, next_cursor=page.next, omitted=page.omitted, gap_at=page.gap_at)


def _grows(process: Process) -> bool:
    """True while there is somebody who could write more."""
    return process.running or (not process.closed and bool(process.pids))
