"""Listening unix sockets, and who listens, from `/proc` alone."""

from __future__ import annotations

import os

#: __SO_ACCEPTCON in the flags column: the socket listens.
_LISTENS = 0x00010000


def unix_listeners(below: str) -> dict[int, str]:
    """Inode to path of the listening unix sockets that were bound at or below `below`.

    The kernel keeps the path a socket was bound to even after the file is unlinked, so a hidden server is found too.
    """
    prefix = below.rstrip("/")
    found = {}
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        next(file)
        for line in file:
            columns = line.split(maxsplit=7)
            if len(columns) == 8 and int(columns[3], 16) & _LISTENS:
                path = columns[7].rstrip("\n")
                if path == prefix or path.startswith(prefix + "/"):
                    found[int(columns[6])] = path
    return found


def holders(inodes: set[int]) -> dict[int, list[int]]:
    """For each socket inode the pids that have it open, as far as we may look into them."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, list[int]] = {inode: [] for inode in inodes}
    if not wanted:
        return found
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            descriptors = os.listdir(f"/proc/{entry.name}/fd")
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            continue
        for descriptor in descriptors:
            try:
                target = os.readlink(f"/proc/{entry.name}/fd/{descriptor}")
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if target in wanted:
                found[wanted[target]].append(int(entry.name))
    return found
