"""What agents without a cgroup use, added up over their processes.

Processor time of what ended already is lost, but for what its parent waited for. Memory is what is resident and shared
with nobody (`statm`, resident less shared). There are no peaks, no pressure and no limits at this level.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from corral.adapters.procfs.processes import Process, with_descendants
from corral.ports.usage import Usage

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


def of_families(
    everyone: Sequence[Process],
    families: Mapping[str, Sequence[Process]],
    *,
    level: str,
    leave_out: Callable[[Process], bool],
) -> list[Usage]:
    """One for each agent, whose `families` are the processes known to be its, and one for the team, last."""
    agents = []
    for agent, roots in sorted(families.items()):
        members = [process for process in with_descendants(everyone, roots) if not leave_out(process)]
        if members:
            agents.append(_of_processes(agent, members, level))
    if not agents:
        return []
    whole = Usage(
        agent="",
        level=level,
        cpu_seconds=sum(one.cpu_seconds for one in agents),
        memory_current=sum(one.memory_current for one in agents),
        tasks=sum(one.tasks for one in agents),
        frozen=all(one.frozen for one in agents),
    )
    return [*agents, whole]


def _of_processes(agent: str, members: Sequence[Process], level: str) -> Usage:
    ticks = pages = threads = 0
    for process in members:
        fields = _fields(f"/proc/{process.pid}/stat")
        if fields:
            # After the name: utime, stime, cutime and cstime are fields 14 to 17, the threads field 20 (proc(5)).
            ticks += sum(int(field) for field in fields[11:15])
            threads += int(fields[17])
        memory = _fields(f"/proc/{process.pid}/statm")
        if memory:
            pages += int(memory[1]) - int(memory[2])
    return Usage(
        agent=agent,
        level=level,
        cpu_seconds=ticks / _TICKS,
        memory_current=pages * _PAGE,
        tasks=threads,
        frozen=all(process.state == "T" for process in members),
    )


def _fields(path: str) -> list[bytes]:
    """The words of a file of /proc, of `stat` those behind the name; none if the process is gone."""
    try:
        with open(path, "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
