"""What a host remembers of its processes, tells of them, and forgets when it is too much."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable

from corral.adapters.subprocess import host_retention
from corral.adapters.subprocess.host_child import Child
from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_output import AGAIN_SECONDS, Output
from corral.adapters.subprocess.host_retention import FRESH_SECONDS, MOST_FRESH, Shelf
from corral.adapters.subprocess.records import Journal, ProcessRecord, output_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Memory:
    """The processes that are known, by id. `tell` is called with everything that somebody may want to know."""

    def __init__(self, directory: str, loop: Loop, tell: Callable[[dict[str, Any]], None]) -> None:
        self._directory = directory
        self._loop = loop
        self._tell = tell
        self._null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._commands, self._runs = Shelf(), Shelf()
        self._records: dict[str, ProcessRecord] = {}
        #: What is about to be started, and may run already for all that a next host could know.
        self._intended: dict[str, ProcessRecord] = {}
        self._journal = Journal(directory, lambda: [*self._records.values(), *self._intended.values()])
        #: The disk did not take a note, and will be asked again.
        self._behind = False
        self.children: dict[str, Child] = {}

    def close(self) -> None:
        """Let go of what is open."""
        os.close(self._null)

    def output_for(self, record: ProcessRecord) -> Output:
        """Where the output of a process goes."""
        directory = output_directory(self._directory, record.process)
        return Output(directory, record.keep_head, record.keep_tail, self._shelf_of(record).ledger, self._null)

    def knows(self, child: Child) -> bool:
        """True for one that runs, or ran, its program."""
        return self.children.get(child.record.process) is child

    def intend(self, record: ProcessRecord) -> None:
        """It is about to be started: written before it is so, or a host that is killed now would leave it unknown."""
        self._intended[record.process] = record
        try:
            self._journal.started(record)
        except OSError:
            self._write_later()

    def give_up(self, record: ProcessRecord) -> None:
        """It was not started after all."""
        del self._intended[record.process]
        try:
            self._journal.forgotten([record.process])
        except OSError:
            self._write_later()

    def add(self, child: Child) -> None:
        """It runs its program: from now on it is known, and what it says of what is to be kept holds."""
        self.heed(child.record)
        self._intended.pop(child.record.process, None)
        self.children[child.record.process] = child
        self._records[child.record.process] = child.record
        self._write(child, lambda: self._journal.changed(child.record, "pid", "start"))
        self._tell({"born": child.record.facts()})

    def restore(self, child: Child) -> None:
        """It is known from an earlier host."""
        self.children[child.record.process] = child
        self._records[child.record.process] = child.record

    def facts(self) -> list[dict[str, Any]]:
        """All that is known, of the oldest first."""
        return [record.facts() for record in self._records.values()]

    def ended(self, child: Child) -> None:
        """Its command has ended."""
        record = child.record
        self._write(child, lambda: self._journal.changed(record, "running", "code", "signal", "ended_at"))
        self._tell(
            {
                "ended": record.process,
                "code": record.code,
                "signal": record.signal,
                "ended_at": record.ended_at,
                "end": record.end,
                "gone": record.gone,
            }
        )

    def gone(self, child: Child) -> None:
        """Nothing is left in its cgroup, which was removed."""
        child.record.gone = True
        self._tell({"gone": child.record.process})

    def closed(self, child: Child) -> None:
        """There will be no more output of it."""
        self._write(child, lambda: self._journal.changed(child.record, "closed"))
        self._tell({"closed": child.record.process, "end": child.record.end})

    def look_at_trouble(self, child: Child) -> None:
        """Tell once that something of it is not recorded, and once that it is again."""
        before = child.record.trouble
        child.record.trouble = child.output.trouble or child.unwritten or child.lost
        if child.record.trouble == before:
            return
        self._tell({"trouble": child.record.process, "why": child.record.trouble})
        if child.output.trouble:
            self._loop.later(AGAIN_SECONDS, lambda: self._settle(child))

    def _settle(self, child: Child) -> None:
        """Make a gap known that grows no more, because nothing more is written."""
        if child.output.trouble and child.source >= 0:
            child.output.settle()
            child.tell_waiting()
            self._loop.later(AGAIN_SECONDS, lambda: self._settle(child))

    def _write(self, child: Child, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            child.unwritten = f"what is known of it is not recorded: {error.strerror or error}"
            self.look_at_trouble(child)
            self._write_later()

    def _write_later(self) -> None:
        if not self._behind:
            self._behind = True
            self._loop.later(AGAIN_SECONDS, self.write_all)

    def write_all(self) -> None:
        """Write the journal anew; if the disk does not take it, again and again."""
        self._behind = False
        try:
            self._journal.rewrite()
        except OSError:
            self._write_later()
            return
        for child in self.children.values():
            if child.unwritten:
                child.unwritten = ""
                self.look_at_trouble(child)

    # What goes

    def forget(self, children: Iterable[Child]) -> None:
        """Drop what is known of them, and their output."""
        gone = list(children)
        for child in gone:
            child.let_go()
            try:
                child.output.forget()
            except OSError:
                sys.excepthook(*sys.exc_info())  # the next host removes what belongs to nobody
            del self.children[child.record.process], self._records[child.record.process]
            finished = self._shelf_of(child.record).finished
            finished[child.record.agent] = finished.get(child.record.agent, 0) - child.finished
        try:
            self._journal.forgotten(child.record.process for child in gone)
        except OSError:
            self._write_later()
        self._tell({"forgotten": [child.record.process for child in gone]})

    def forget_all(self) -> None:
        """Drop everything, the journal too."""
        self.forget(list(self.children.values()))
        self._journal.remove()

    def heed(self, record: ProcessRecord) -> None:
        """Keep as much as was asked for with a command; what was asked for last holds."""
        shelf, records, disk = self._commands, record.keep_records, record.keep_disk
        if records is None or disk is None or (records, disk) == (shelf.records, shelf.disk):
            return
        shelf.records, shelf.disk, shelf.crowded_until = records, disk, 0.0
        self._trim(shelf)
        self._make_room(shelf)

    def finished(self, child: Child) -> None:
        """Nothing of it runs any more, as far as the host can know."""
        child.finished, child.finished_at = True, time.monotonic()
        shelf, agent = self._shelf_of(child.record), child.record.agent
        shelf.finished[agent] = shelf.finished.get(agent, 0) + 1
        if shelf.finished[agent] > max(shelf.records, MOST_FRESH):
            self._trim(shelf)
        elif shelf.finished[agent] > shelf.records:
            self._trim_later(shelf, FRESH_SECONDS)

    def make_room(self, child: Child) -> None:
        """Have no more output on the disk than is allowed; it has written some."""
        self._make_room(self._shelf_of(child.record))

    def _trim_later(self, shelf: Shelf, seconds: float) -> None:
        def trim() -> None:
            shelf.trimming = False
            self._trim(shelf)

        if not shelf.trimming:
            shelf.trimming = True
            self._loop.later(seconds, trim)

    def _trim(self, shelf: Shelf) -> None:
        """Remember no more that are over than is allowed."""
        fresh = self._fresh(shelf)
        self._forget_free(host_retention.too_many(self._over(shelf), shelf.records, fresh))
        if fresh and shelf.has_too_many():
            self._trim_later(shelf, AGAIN_SECONDS)

    def _make_room(self, shelf: Shelf) -> None:
        """What is over goes first, then parts of the largest; what has just finished, only if that is not enough."""
        if not shelf.is_crowded() or time.monotonic() < shelf.crowded_until:
            return
        fresh = self._fresh(shelf)
        over = [record for record in self._over(shelf) if _kept(self.children[record.process])]
        self._forget_free([record for record in over if record.process not in fresh], until_roomy=shelf)
        largest = sorted((child for child in self.children.values() if self._is_on(shelf, child)), key=_kept)
        while shelf.is_crowded() and largest:
            if not largest[-1].output.drop_oldest():
                largest.pop()
            largest.sort(key=_kept)
        if shelf.is_crowded():
            self._forget_free([record for record in over if record.process in fresh], until_roomy=shelf)
        if shelf.is_crowded():
            shelf.crowded_until = time.monotonic() + AGAIN_SECONDS  # so many run that what must stay is more

    def _shelf_of(self, record: ProcessRecord) -> Shelf:
        return self._runs if record.keep_records is None else self._commands

    def _is_on(self, shelf: Shelf, child: Child) -> bool:
        return self._shelf_of(child.record) is shelf

    def _over(self, shelf: Shelf) -> list[ProcessRecord]:
        """Those that are over, in the order in which they may go: what somebody has all of, then the longest ended."""
        over = (child.record for child in self.children.values() if child.finished and self._is_on(shelf, child))
        return sorted(host_retention.oldest_first(over), key=lambda record: not self.children[record.process].answered)

    def _fresh(self, shelf: Shelf) -> set[str]:
        """Those of which somebody may just have been told that they ended."""
        since = time.monotonic() - FRESH_SECONDS
        return {record.process for record in self._over(shelf) if self.children[record.process].finished_at > since}

    def _forget_free(self, records: list[ProcessRecord], until_roomy: Shelf | None = None) -> None:
        if not records:
            return
        leaders = [child.record.pid for child in self.children.values() if child.record.running]
        for record in host_retention.free_to_go(records, leaders):
            if until_roomy is not None and not until_roomy.is_crowded():
                return
            self.forget([self.children[record.process]])


def _kept(child: Child) -> int:
    return child.output.kept
