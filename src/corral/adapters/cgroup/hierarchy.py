"""Where cgroups of version 2 are found on this host, and which of them a process is in.

`/proc/PID/cgroup` names a cgroup as seen from this process's cgroup namespace; the mount table says which cgroup is
mounted where. Only both together give a directory. They may not fit: a container can be shown a part of the tree that
its own processes are not in.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from corral.adapters.cgroup.tree import Cgroup, unified_name_of


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mount of the unified hierarchy."""

    #: The directory it is mounted at: `/sys/fs/cgroup`, or `/sys/fs/cgroup/unified` beside cgroups of version 1.
    mount: str
    #: The cgroup that is mounted there; `/` unless a part of the tree was bind-mounted.
    root: str

    def cgroup(self, name: str) -> Cgroup | None:
        """The cgroup of this name (as in `/proc/PID/cgroup`), existing or not; None if this mount does not show it."""
        if self.root != "/" and name != self.root and not name.startswith(self.root + "/"):
            return None
        below = name if self.root == "/" else name[len(self.root) :]
        if ".." in below.split("/"):
            return None  # outside of the namespace, and of this mount with it
        return Cgroup(name=name, path=(self.mount.rstrip("/") + "/" + below.strip("/")).rstrip("/"))

    def of_process(self, pid: int) -> Cgroup | None:
        """The cgroup that a process is in; None if it is gone, or in one that this mount does not show."""
        name = unified_name_of(pid)
        return None if name is None else self.cgroup(name)


def find() -> Hierarchy | str:
    """The mount that shows the cgroup of this process, or why there is none."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        found = mounts(table := file.read())
    if not found:
        if has_version_1(table):
            return "this host has cgroups of version 1 only"
        return "no cgroup2 file system is mounted"
    name = unified_name_of(os.getpid())
    if name is None:
        return "this process is in no cgroup of version 2"
    # The latest mount first: it is the one on top where two share a directory.
    for hierarchy in reversed(found):
        own = hierarchy.cgroup(name)
        if own is not None and own.exists():
            return hierarchy
    return f"the cgroup of this process, {name}, is not below {found[-1].mount}"


def mounts(table: str) -> list[Hierarchy]:
    """The mounts of the unified hierarchy in a text like `/proc/self/mountinfo`, in its order."""
    found = []
    for line in table.splitlines():
        before, _, after = line.partition(" - ")
        if after.split(" ", 1)[0] == "cgroup2":
            fields = before.split(" ")
            found.append(Hierarchy(mount=_unescaped(fields[4]), root=_unescaped(fields[3])))
    return found


def has_version_1(table: str) -> bool:
    """True if the mount table has cgroups of version 1."""
    return any(line.partition(" - ")[2].split(" ", 1)[0] == "cgroup" for line in table.splitlines())


def _unescaped(field: str) -> str:
    """The kernel writes blanks and backslashes of a path in octal."""
    if "\\" not in field:
        return field
    parts = field.split("\\")
    return parts[0] + "".join(chr(int(part[:3], 8)) + part[3:] for part in parts[1:])
