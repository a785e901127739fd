"""The audit trail as a use case: what was decided, and what came of it. Group-committed: many entries, one write.

| what | when it returns |
|---|---|
| `decided` | the kernel has the decision, so it is in the trail if the daemon is killed in the middle of the deed |
| `durable` | the decision is on the disk, so it is there if the power fails. Before anybody is told of the deed |
| `done`, `noted` | at once. What came of it is written within 20 ms, and on the disk within about a second |

So a daemon that is killed can leave a decision without an outcome, which says just that: allowed, and nobody knows what
came of it. It can lose what was read, and by whom, in the last 20 ms before its death. It loses no decision to act.

If the trail cannot be written, whoever asks is refused. What happened already stays in line until it can be.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.background import Background
from corral.domain.audit import ITSELF, Actor, Entry, Note, Target
from corral.domain.audit_detail import bounded_note
from corral.domain.audit_filter import Wanted
from corral.domain.audit_terms import AuditTerms
from corral.domain.errors import CorralError
from corral.domain.policy import asked_as
from corral.domain.timestamps import timestamp
from corral.ports.audit import AuditTrail, Reached
from corral.service.audit_disk import Disk
from corral.service.audit_shipping import Shipping
from corral.service.unexpected import not_written

log = logging.getLogger("corral.audit")

#: Entries about the trail itself, besides those that the trail writes.
LOST = "audit.lost"
RESUMED = "audit.resumed"
#: Entries of what happened that wait for room on the disk. What comes after them is counted.
MOST_WAITING = 10_000
#: So many in line, and whoever reads waits as well: nobody is faster than the disk for long.
_CROWDED = 2_000
#: Written at once by the thread, and by the event loop itself.
_BATCH, _AT_ONCE = 1_000, 64
#: What nobody waits for is written so soon, or with so many others, or with the next that somebody waits for.
_SOON_SECONDS, _SOON_ENTRIES = 0.02, 32
_PAGE = 500


@dataclass(slots=True, kw_only=True)
class Decision:
    """Something that was decided, to tell what came of it."""

    note: Note
    #: Its number in the trail, once it is written.
    number: int = 0

    @property
    def trace(self) -> str:
        return self.note.trace


class Audit:
    """The use case."""

    def __init__(
        self, trail: AuditTrail, terms: AuditTerms, now: Callable[[], float], shipping: Shipping | None = None
    ) -> None:
        self._trail = trail
        self._terms = terms
        self._now = now
        self._shipping = shipping
        self._background = Background()
        #: What waits to be written: each with whom to tell, if somebody asks whether it may go on.
        self._line: list[tuple[Note, asyncio.Future[int] | None]] = []
        #: How many of them nobody waits for.
        self._kept = 0
        self._lost = 0
        self._writing = False
        self._writer: asyncio.Task[None] | None = None
        self._soon: asyncio.TimerHandle | None = None
        #: Why the last write failed; None if it did not.
        self._trouble: CorralError | None = None
        #: The last entry that was written.
        self._written = 0
        #: How many entries no signature vouches for, when the last was written.
        self._unsigned = 0
        self._disk = Disk(trail, self._background, lambda: self._written, self._not_synced)
        self._checkpoint_timer: asyncio.TimerHandle | None = None
        self._grew = asyncio.Event()
        self._closed = False

    # Telling

    async def decided(
        self,
        who: Actor,
        verb: str,
        on: Target,
        *,
        allowed: bool,
        rule: str = "",
        outcome: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> Decision:
        """Write a decision down, before it is acted on. `RefusedError` if that cannot be: then nothing may be done.

        It begins its way to the disk at once; `durable` waits for its arrival. One that is not allowed has its outcome
        with it, as nothing will come of it.
        """
        return await self.decided_each(who, verb, [(on, rule)], allowed=allowed, outcome=outcome, detail=detail)

    async def decided_each(
        self,
        who: Actor,
        verb: str,
        each: Sequence[tuple[Target, str]],
        *,
        allowed: bool,
        outcome: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> Decision:
        """As `decided`, of a request that is about several things, each with its rule: an entry each, of one trace."""
        trace = secrets.token_hex(8)
        notes = [self._note(who, verb, on, allowed, rule, outcome, detail or {}, trace) for on, rule in each]
        number = await self._asked(*notes)
        self._disk.begin()
        return Decision(note=notes[-1], number=number)

    async def durable(self, decision: Decision) -> None:
        """Return when the decision is on the disk. Raises if it never will be."""
        await self._disk.arrival(decision.number)

    def begun(
        self, who: Actor, verb: str, each: Sequence[tuple[Target, str]], detail: Mapping[str, object] | None = None
    ) -> Decision:
        """Tell of something that was allowed, is only read, and takes its time; `done` tells what came of it."""
        trace = secrets.token_hex(8)
        notes = [self._note(who, verb, on, True, rule, "", detail or {}, trace) for on, rule in each]
        for note in notes:
            self._told(note)
        return Decision(note=notes[-1])

    def done(
        self,
        decision: Decision,
        outcome: str,
        detail: Mapping[str, object] | None = None,
        *,
        on: Target | None = None,
        rule: str | None = None,
    ) -> None:
        """Tell what came of a decision, or of one of several things (`on`, by its `rule`) that it is about: an entry
        with the same trace id. It is written in its turn."""
        said = decision.note
        on, rule = said.on if on is None else on, said.rule if rule is None else rule
        self._told(self._note(said.who, said.verb, on, said.allowed, rule, outcome, detail or {}, said.trace))

    @property
    def is_ready(self) -> bool:
        """Whether `ready` would return at once."""
        return self._trouble is None and len(self._line) < _CROWDED

    async def ready(self) -> None:
        """Return at once if what is told can be written, as far as is known; else try, and raise if it cannot.

        To be waited for before something is read, which `noted` tells of when it was.
        """
        if self._trouble is not None:
            await self._asked(self._note(ITSELF, RESUMED, Target(), True, "", "ok", {}, ""))
        elif len(self._line) >= _CROWDED and self._writer is not None:
            await asyncio.shield(self._writer)

    def noted(
        self,
        who: Actor,
        verb: str,
        on: Target,
        *,
        rule: str = "",
        outcome: str,
        detail: Mapping[str, object] | None = None,
        trace: str = "",
    ) -> str:
        """Tell of something that was allowed and has happened, decision and outcome in one entry: its trace id, which
        is that of the request that it came of if that is given (`trace`).
        """
        note = self._note(who, verb, on, True, rule, outcome, detail or {}, trace or secrets.token_hex(8))
        self._told(note)
        return note.trace

    def _note(
        self,
        who: Actor,
        verb: str,
        on: Target,
        allowed: bool,
        rule: str,
        outcome: str,
        detail: Mapping[str, object],
        trace: str,
    ) -> Note:
        return bounded_note(timestamp(self._now()), who, asked_as(verb), on, allowed, rule, outcome, detail, trace)

    # Writing

    async def _asked(self, *notes: Note) -> int:
        """Return when they are written, with the number of the last. Raises if they cannot be."""
        reached = self._written_now(notes)
        if reached is not None:
            return reached.number
        waiting = [asyncio.get_running_loop().create_future() for _ in notes]
        self._line.extend(zip(notes, waiting, strict=True))
        self._begin_writing()
        # Whoever asked may go away; its decision is written all the same.
        return await asyncio.shield(waiting[-1])

    def _written_now(self, notes: Sequence[Note]) -> Reached | None:
        """Write them at once, behind what is in line, if nobody writes and it is no more than a page: that takes less
        time than to have it done by a thread. None if it is not, or cannot be: then the thread tries, and says why.
        """
        line, count = self._line, len(self._line) + len(notes)
        # What is signed on the way, or failed before, takes its time.
        is_due = self._unsigned + count >= self._terms.checkpoint_entries
        if self._writing or is_due or self._trouble is not None or self._lost or count > _AT_ONCE:
            return None
        try:
            reached = self._trail.append_now([*(note for note, _ in line), *notes])
        except Exception:  # whatever it is: the thread comes upon it as well, and tells
            return None
        if reached is not None:
            self._line = []
            before = Reached(number=reached.number - len(notes), unsigned=reached.unsigned)
            self._settle(line, before)
            self._written = reached.number
        return reached

    def _told(self, note: Note) -> None:
        if self._closed:
            return  # work that is given up with the daemon: nobody knows what came of it, and that the trail says
        if self._kept >= MOST_WAITING:
            self._lost += 1
            return
        self._kept += 1
        self._line.append((note, None))
        if len(self._line) >= _SOON_ENTRIES:
            self._write_soon()
        elif self._soon is None and not self._writing:
            self._soon = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._write_soon)

    def _write_soon(self) -> None:
        """Write what is in line: at once if it is little, and by the thread if it is more, or takes longer."""
        if self._written_now(()) is None:
            self._begin_writing()
        elif self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def _begin_writing(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._line and not self._writing:
            self._writing = True
            self._writer = self._background.spawn(self._write_all(), name="audit")

    async def _write_all(self) -> None:
        try:
            while self._line:
                line, self._line = self._line[:_BATCH], self._line[_BATCH:]
                if self._lost and self._trouble is None:
                    counted = self._note(ITSELF, LOST, Target(), True, "", "failed", {"entries": self._lost}, "")
                    line.append((counted, None))
                    self._kept += 1
                    self._lost = 0
                try:
                    reached = await self._trail.append([note for note, _ in line])
                except Exception as error:  # whatever it is: they wait for an answer
                    self._refuse(line, not_written(error, "the audit trail"))
                    return
                self._trouble = None
                self._settle(line, reached)
                self._ship(reached.to_ship)
                if reached.unsigned >= self._terms.checkpoint_entries:
                    await self._checkpoint()
        finally:
            self._writing = False

    def _refuse(self, line: Sequence[tuple[Note, asyncio.Future[int] | None]], error: CorralError) -> None:
        """Nothing was written: whoever asks is refused, and what happened already waits for the next try."""
        if self._trouble is None:
            log.error("%s", error)
        self._trouble = error
        waiting = [*line, *self._line]
        self._line = [one for one in waiting if one[1] is None]
        for _, written in waiting:
            if written is not None and not written.done():
                written.set_exception(error)
                written.exception()  # whoever asked may have gone away

    def _settle(self, line: Sequence[tuple[Note, asyncio.Future[int] | None]], reached: Reached) -> None:
        first = reached.number - len(line) + 1
        self._written = max(self._written, reached.number)
        for at, (_, written) in enumerate(line):
            if written is None:
                self._kept -= 1
            elif not written.done():
                written.set_result(first + at)
        self._grew.set()
        self._grew = asyncio.Event()
        self._disk.begin_in_time()
        self._unsigned = reached.unsigned
        if self._checkpoint_timer is None:
            self._checkpoint_timer = asyncio.get_running_loop().call_later(
                self._terms.checkpoint_every, self._checkpoint_in_time
            )

    def _not_synced(self, error: CorralError) -> None:
        self._trouble = error

    # Checkpoints

    async def begin(self) -> None:
        """Have the checkpoint shipped that was signed when the trail was opened."""
        await self._checkpoint()

    def _checkpoint_in_time(self) -> None:
        self._checkpoint_timer = None
        self._background.spawn(self._checkpoint(), name="audit checkpoint")

    async def _checkpoint(self) -> None:
        if self._checkpoint_timer is not None:
            self._checkpoint_timer.cancel()
            self._checkpoint_timer = None
        try:
            line = await self._trail.checkpoint()
        except CorralError as error:
            log.error("no checkpoint could be signed: %s", error)
            self._trouble = error
            return
        self._ship(line)

    def _ship(self, line: bytes | None) -> None:
        if line is not None and self._shipping is not None:
            self._shipping.ship(line)

    # Reading

    @property
    def head(self) -> tuple[int, str]:
        """The last entry that was written: its number and its hash."""
        return self._trail.head

    @property
    def not_shipped(self) -> str:
        """Why the last checkpoint could not be shipped; empty if it was, or none is to be."""
        return "" if self._shipping is None else self._shipping.trouble

    async def read(
        self,
        wanted: Wanted,
        may_see: Callable[[Entry], bool],
        *,
        last: int | None = None,
        after: int = 0,
        follow: bool = False,
    ) -> AsyncGenerator[Entry, None]:
        """Entries that are wanted and may be seen by whoever asks, in order; with `follow`, as long as it is heard.

        `may_see` is asked about each entry, in another thread: it is a pure function of the entry. What it says no to
        is left out without a trace; numbers tell that something is there.
        """

        def fits(entry: Entry) -> bool:
            return wanted.fits(entry) and may_see(entry)

        if self._line and self._trouble is None:
            self._begin_writing()  # whoever has done something finds it
        if self._writer is not None:
            await asyncio.shield(self._writer)
        if last is not None:
            for entry in await self._trail.last(last, fits) if last else []:
                yield entry
                after = entry.number
            if not follow:
                return
            after = max(after, self._written)
        while True:
            grew = self._grew
            found, reached = await self._trail.after(after, wanted.since, fits, _PAGE)
            for entry in found:
                yield entry
            if reached == after:
                if not follow:
                    return
                await grew.wait()
            after = reached

    # The end

    async def close(self) -> None:
        """Write, sign and ship what there is."""
        self._disk.forget_the_rest()
        if self._checkpoint_timer is not None:
            self._checkpoint_timer.cancel()
        if self._line:
            self._begin_writing()
        for under_way in (self._writer, self._disk.syncer):
            if under_way is not None:
                await under_way
        self._closed = True
        if self._line or self._lost:
            log.error("%d entries of the audit trail could not be written", len(self._line) + self._lost)
        try:
            self._ship(await self._trail.close())
        except CorralError as error:
            log.error("the audit trail could not be closed: %s", error)
        if self._shipping is not None:
            await self._shipping.close()
