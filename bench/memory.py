"""Memory of processes, as the kernel sums it up.

PSS is the fair price: a process's own pages, and its share of those that it has in common with others. It falls when
more of the machine's programs use the same libraries, so growth is read from the pages that are the process's alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Memory:
    """Bytes of one process."""

    pss: int
    own: int


def measure(processes: Mapping[str, int]) -> dict[str, Memory]:
    """The memory of each process."""
    return {name: _memory(pid) for name, pid in processes.items()}


def _memory(pid: int) -> Memory:
    sums = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if rest.endswith(" kB\n"):
                sums[name] = int(rest.split()[0]) * 1024
    return Memory(pss=sums["Pss"], own=sums["Private_Clean"] + sums["Private_Dirty"])
