"""What descends from a process, found by going down from it and not by looking at every process there is."""

from __future__ import annotations

import os
from collections.abc import Iterable

from corral.adapters.cgroup.tree import contents
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process

_LINKS_WITH_ONE_THREAD = 3


def can_be_followed() -> bool:
    """True if the kernel lists the children of a process."""
    return os.path.exists(f"/proc/self/task/{os.getpid()}/children")


def children(pid: int) -> list[int]:
    """The children of a process, whichever of its threads started them; none if it is gone."""
    try:
        # Asked first, since most have one thread: a directory of the kernel's has a link for each directory in it.
        alone = os.stat(f"/proc/{pid}/task").st_nlink <= _LINKS_WITH_ONE_THREAD
        tasks = [str(pid)] if alone else os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    # Of a thread that has ended nothing is there: its children are another's.
    lists = [contents(f"/proc/{pid}/task/{task}/children") or b"" for task in tasks]
    return [int(child) for children in lists for child in children.split()]


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
