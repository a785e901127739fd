"""Who holds a socket, from `/proc` alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable


def holders(inodes: set[int], among: Iterable[int] | None = None) -> dict[int, list[int]]:
    """For each socket inode the pids that have it open, as far as we may look into them; of all processes, or `among`.

    Each pid once, however often it has the socket open.
    """
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, list[int]] = {inode: [] for inode in inodes}
    if not wanted:
        return found
    if among is None:
        among = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())
    for pid in among:
        for target in _open_files(pid) & wanted.keys():
            found[wanted[target]].append(pid)
    return found


def _open_files(pid: int) -> set[str]:
    """What the process has open, as the kernel names it. By way of the directory: a whole path each takes longer."""
    targets: set[str] = set()
    try:
        directory = os.open(f"/proc/{pid}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return targets
    try:
        for descriptor in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                targets.add(os.readlink(descriptor, dir_fd=directory))
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        pass  # it ended, or became somebody else's
    finally:
        os.close(directory)
    return targets
