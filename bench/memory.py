"""Memory of processes as PSS: their own pages, and their share of those that they have in common with others."""

from __future__ import annotations

from collections.abc import Mapping


def pss(processes: Mapping[str, int]) -> dict[str, int]:
    """The bytes of each process."""
    return {name: _pss(pid) for name, pid in processes.items()}


def _pss(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
