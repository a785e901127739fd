"""What descends from a process, found by going down from it and not by looking at every process there is."""

from __future__ import annotations

import os
from collections.abc import Iterable

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process


def can_be_followed() -> bool:
    """True if the kernel lists the children of a process."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def children(pid: int) -> list[int]:
    """The children of a process, whichever of its threads started them; none if it is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    found: list[int] = []
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:
                found.extend(int(child) for child in file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended, and its children are another's
    return found


def below(pids: Iterable[int]) -> list[Process]:
    """These processes and all that descends from them, as far as they run."""
    found: dict[int, Process] = {}
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        process = proc.read(pid) if pid not in found else None
        if process is not None and process.state not in "ZX":
            found[pid] = process
            waiting.extend(children(pid))
    return list(found.values())
