"""What a host remembers of its processes, tells of them, and forgets when it is too much."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable

from corral.adapters.subprocess import host_retention
from corral.adapters.subprocess.host_child import Child
from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_output import AGAIN_SECONDS, Ledger, Output
from corral.adapters.subprocess.records import Journal, ProcessRecord, output_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The most output of a team on the disk. Heads, and what is just being written, stay in any case.
TOTAL_BYTES = 512 << 20


class Memory:
    """The processes that are known, by id. `tell` is called with everything that somebody may want to know."""

    def __init__(self, directory: str, loop: Loop, tell: Callable[[dict[str, Any]], None]) -> None:
        self._directory = directory
        self._loop = loop
        self._tell = tell
        self._null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._ledger = Ledger()
        self._records: dict[str, ProcessRecord] = {}
        self._journal = Journal(directory, self._records)
        #: The disk did not take a note, and will be asked again.
        self._behind = False
        #: How many of each agent are over.
        self._finished: dict[str, int] = {}
        self._crowded_until = 0.0
        self.children: dict[str, Child] = {}

    def close(self) -> None:
        """Let go of what is open."""
        os.close(self._null)

    def output_for(self, record: ProcessRecord) -> Output:
        """Where the output of a process goes."""
        directory = output_directory(self._directory, record.process)
        return Output(directory, record.keep_head, record.keep_tail, self._ledger, self._null)

    def knows(self, child: Child) -> bool:
        """True for one that runs, or ran, its program."""
        return self.children.get(child.record.process) is child

    def add(self, child: Child) -> None:
        """It runs its program: from now on it is known."""
        self.children[child.record.process] = child
        self._records[child.record.process] = child.record
        self._write(child, lambda: self._journal.started(child.record))
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
        child.record.trouble = child.output.trouble or child.unwritten
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
            self._finished[child.record.agent] = self._finished.get(child.record.agent, 0) - child.finished
        try:
            self._journal.forgotten(child.record.process for child in gone)
        except OSError:
            self._write_later()
        self._tell({"forgotten": [child.record.process for child in gone]})

    def forget_all(self) -> None:
        """Drop everything, the journal too."""
        self.forget(list(self.children.values()))
        self._journal.remove()

    def finished(self, child: Child) -> None:
        """Nothing of it runs any more, as far as the host can know."""
        child.finished = True
        count = self._finished.get(child.record.agent, 0) + 1
        self._finished[child.record.agent] = count
        if count > host_retention.ENDED_RECORDS:
            self._forget_free(host_retention.too_many(self._over()))

    def make_room(self) -> None:
        """Have no more output on the disk than is allowed."""
        if self._ledger.total <= TOTAL_BYTES or time.monotonic() < self._crowded_until:
            return
        self._forget_free(host_retention.oldest_first(self._over()), down_to=TOTAL_BYTES)
        largest = sorted(self.children.values(), key=_kept)
        while self._ledger.total > TOTAL_BYTES and largest:
            if not largest[-1].output.drop_oldest():
                largest.pop()
            largest.sort(key=_kept)
        if self._ledger.total > TOTAL_BYTES:
            self._crowded_until = time.monotonic() + AGAIN_SECONDS  # so many run that what must stay is more

    def _over(self) -> list[ProcessRecord]:
        return [child.record for child in self.children.values() if child.finished]

    def _forget_free(self, records: list[ProcessRecord], down_to: int | None = None) -> None:
        if not records:
            return
        leaders = [child.record.pid for child in self.children.values() if child.record.running]
        for record in host_retention.free_to_go(records, leaders):
            if down_to is not None and self._ledger.total <= down_to:
                return
            self.forget([self.children[record.process]])


def _kept(child: Child) -> int:
    return child.output.kept
