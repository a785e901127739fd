"""What a cgroup uses, read from its files. Nothing is kept between two reads, and nothing is started.

Without the memory controller the memory of the single processes is added up: what is resident and not shared with a
file or with another process (`statm`, resident less shared). That is less than the kernel would account, because
shared memory and the page cache are in nobody's sum; and there is no peak. Without the pids controller the threads are
counted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from corral.adapters.cgroup.tree import Cgroup, contents
from corral.ports.usage import Pressure, Usage

_PAGE = os.sysconf("SC_PAGE_SIZE")


def of_cgroup(group: Cgroup, *, agent: str, level: str) -> Usage | None:
    """What the cgroup with all below it uses now; None if it is gone."""
    cpu = _table(group, "cpu.stat")
    if not cpu:
        return None
    tasks = _number(group, "pids.current")
    memory = _number(group, "memory.current")
    accounted = memory is not None
    return Usage(
        agent=agent,
        level=level,
        cpu_seconds=cpu.get(b"usage_usec", 0) / 1e6,
        memory_current=memory if memory is not None else _resident(group),
        memory_peak=_number(group, "memory.peak") if accounted else None,
        memory_reclaimable=_reclaimable(group) if accounted else None,
        memory_limit=_memory_limit(group) if accounted else None,
        tasks=tasks if tasks is not None else _threads(group),
        tasks_limit=_number(group, "pids.max"),
        pressure=_pressure(group),
        oom_kills=_table(group, "memory.events").get(b"oom_kill") if accounted else None,
        frozen=group.to_be_frozen(),
        cgroup=group.name,
    )


def of_team(agents: Sequence[Usage], team: Cgroup, *, level: str) -> Usage | None:
    """What the cgroup of a team uses, whose agents were read already: what they were added up for is not read again."""
    if (team.read("memory.current"), team.read("pids.current")) == (None, None):
        whole = total(agents, level=level)
        own = _table(team, "cpu.stat").get(b"usage_usec", 0) / 1e6
        # The team's own count goes on when the cgroup of an agent that ended is removed.
        return msgspec.structs.replace(
            whole, cpu_seconds=max(own, whole.cpu_seconds), pressure=_pressure(team), cgroup=team.name
        )
    return of_cgroup(team, agent="", level=level)


def total(agents: Sequence[Usage], *, level: str) -> Usage:
    """The sum of several, for a team that has no cgroup of its own. Peaks and pressures do not add up."""
    kills = [one.oom_kills for one in agents if one.oom_kills is not None]
    return Usage(
        agent="",
        level=level,
        cpu_seconds=sum(one.cpu_seconds for one in agents),
        memory_current=sum(one.memory_current for one in agents),
        tasks=sum(one.tasks for one in agents),
        oom_kills=sum(kills) if kills else None,
        frozen=bool(agents) and all(one.frozen for one in agents),
    )


def some_avg10(text: bytes) -> float:
    """The percentage in a pressure file: `some avg10=1.50 avg60=…`."""
    start = text.find(b"some avg10=")
    return float(text[start + 11 :].split(b" ", 1)[0]) if start >= 0 else 0.0


def _pressure(group: Cgroup) -> Pressure | None:
    texts = [contents(f"{group.path}/{resource}.pressure") for resource in ("cpu", "memory", "io")]
    if texts == [None, None, None]:
        return None
    cpu, memory, io = (some_avg10(text or b"") for text in texts)
    return Pressure(cpu=cpu, memory=memory, io=io)


def _memory_limit(group: Cgroup) -> int | None:
    """Where the kernel kills; where it only slows down if that is all there is."""
    limit = _number(group, "memory.max")
    return limit if limit is not None else _number(group, "memory.high")


def _reclaimable(group: Cgroup) -> int:
    table = _table(group, "memory.stat")
    return sum(table.get(name, 0) for name in (b"active_file", b"inactive_file", b"slab_reclaimable"))


def _number(group: Cgroup, file: str) -> int | None:
    """A file with one number; None for `max`, or if there is no such file."""
    text = contents(f"{group.path}/{file}")
    return int(text) if text and text.strip().isdigit() else None


def _table(group: Cgroup, file: str) -> dict[bytes, int]:
    """A file with a name and a number in each line."""
    lines = (line.split() for line in (contents(f"{group.path}/{file}") or b"").splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2}


def _resident(group: Cgroup) -> int:
    pages = 0
    for pid in group.pids():
        fields = (contents(f"/proc/{pid}/statm") or b"0 0 0").split()
        pages += int(fields[1]) - int(fields[2])
    return pages * _PAGE


def _threads(group: Cgroup) -> int:
    return sum((contents(f"{one.path}/cgroup.threads") or b"").count(b"\n") for one in group.tree())
