"""Which records go when there are too many: those of the longest ended, and never one of which something may run."""

from __future__ import annotations

import os
from collections.abc import Iterable

from corral.adapters.subprocess import host_procfs as procfs
from corral.adapters.subprocess.records import ProcessRecord

#: What is remembered of an agent's processes that are over.
ENDED_RECORDS = 200
#: So many go at once: to find out whether something of them runs may take a look at every process.
_AT_ONCE = 20


def too_many(over: Iterable[ProcessRecord]) -> list[ProcessRecord]:
    """Of those that are over, the ones that should go, the longest ended first."""
    by_agent: dict[str, list[ProcessRecord]] = {}
    for record in over:
        by_agent.setdefault(record.agent, []).append(record)
    found: list[ProcessRecord] = []
    for records in by_agent.values():
        if len(records) > ENDED_RECORDS:
            found.extend(oldest_first(records)[: len(records) - ENDED_RECORDS + _AT_ONCE])
    return found


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
