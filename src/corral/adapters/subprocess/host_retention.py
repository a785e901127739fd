"""Which records go when there are too many: those of the longest ended, and never one of which something may run."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable

from corral.adapters.subprocess import host_procfs as procfs
from corral.adapters.subprocess.host_output import Ledger
from corral.adapters.subprocess.records import ProcessRecord

#: What is remembered of an agent's runs that are over, and of its commands until one comes that says how many.
ENDED_RECORDS = 200
#: The most output on the disk, likewise. Heads, and what is just being written, stay in any case.
TOTAL_BYTES = 512 << 20
#: What has just finished stays for so many seconds: whoever waited for its end has yet to look at it. But no more of an
#: agent than this stay for that.
FRESH_SECONDS, MOST_FRESH = 5.0, 200
#: So many go at once: to find out whether something of them runs may take a look at every process. Of few, fewer.
_AT_ONCE, _SHARE_AT_ONCE = 20, 10


class Shelf:
    """What is kept of processes of one kind: of commands, or of runs of agents."""

    __slots__ = ("crowded_until", "disk", "finished", "ledger", "records", "trimming")

    def __init__(self) -> None:
        #: The most records of each agent that are over, and the most bytes of output.
        self.records = ENDED_RECORDS
        self.disk = TOTAL_BYTES
        self.ledger = Ledger()
        #: How many of each agent are over.
        self.finished: dict[str, int] = {}
        #: It will be looked soon whether there are too many.
        self.trimming = False
        #: There is no more to be gained until then.
        self.crowded_until = 0.0

    def is_crowded(self) -> bool:
        """There is more output than there should be."""
        return self.ledger.total > self.disk

    def has_too_many(self) -> bool:
        """Of some agent more are over than should be remembered."""
        return any(count > self.records for count in self.finished.values())


def too_many(over: Iterable[ProcessRecord], most: int, fresh: Container[str]) -> list[ProcessRecord]:
    """Of those that are over, the longest ended first, the ones that should go. Fresh ones stay while they are few."""
    by_agent: dict[str, list[ProcessRecord]] = {}
    for record in over:
        by_agent.setdefault(record.agent, []).append(record)
    found: list[ProcessRecord] = []
    for records in by_agent.values():
        surely = _excess(len(records), max(most, MOST_FRESH))
        for at, record in enumerate(records[: _excess(len(records), most)]):
            if at < surely or record.process not in fresh:
                found.append(record)
    return found


def _excess(count: int, most: int) -> int:
    """How many of so many should go."""
    return count - most + min(_AT_ONCE, most // _SHARE_AT_ONCE) if count > most else 0


def oldest_first(records: Iterable[ProcessRecord]) -> list[ProcessRecord]:
    """The longest ended first."""
    return sorted(records, key=lambda record: record.ended_at or 0.0)


def free_to_go(records: list[ProcessRecord], leaders: Iterable[int]) -> list[ProcessRecord]:
    """Those of which nothing runs. `leaders` are the pids of commands that do.

    One with a cgroup is over when that is gone, which the caller has seen. Orphans of the others are handed to the host
    and carry the id; one that cleared its environment may belong to any that was started before it.
    """
    if all(record.cgroup for record in records):
        return records
    handed = set(procfs.children()) - set(leaders)
    # The orphans of a host that was killed went to somebody else.
    of_others = any(record.host != os.getpid() and not record.cgroup for record in records)
    marks = {pid: procfs.process_marked_on(pid) for pid in (procfs.every_pid() if of_others else handed)}
    in_use = set(marks.values())
    unknown = [procfs.start_of(pid) for pid in handed if marks.get(pid) is None]
    return [
        record
        for record in records
        if record.cgroup or (record.process not in in_use and record.start > max(unknown, default=-1))
    ]
