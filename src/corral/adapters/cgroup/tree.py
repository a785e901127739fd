"""A cgroup of version 2 as a value: what is in it, whether it runs, and how it is made and removed.

Everything here is a few reads and writes of small kernel files. A cgroup may vanish at any moment; a vanished one has
no processes, is not populated, and removing it succeeds.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass

#: What reading or writing a file of a cgroup that was just removed gives.
_GONE = frozenset((errno.ENOENT, errno.ENODEV))
#: A directory of the kernel's has two links, and one more for each directory in it.
_LINKS_WITHOUT_CHILDREN = 2


@dataclass(frozen=True, slots=True)
class Cgroup:
    """A cgroup, existing or not. Made by `Hierarchy.cgroup`, or by `child` from another."""

    #: As `/proc/PID/cgroup` shows it to this process.
    name: str
    #: Its directory.
    path: str

    def child(self, name: str) -> Cgroup:
        """The cgroup of this name directly below."""
        return Cgroup(name=f"{self.name.rstrip('/')}/{name}", path=f"{self.path}/{name}")

    def parent(self) -> Cgroup:
        """The cgroup that it is in."""
        return Cgroup(name=os.path.dirname(self.name), path=os.path.dirname(self.path))

    def exists(self) -> bool:
        """True while the cgroup is there."""
        return os.path.isdir(self.path)

    def make(self) -> None:
        """Make it if it is not there; its parent must be. Raises `OSError`."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path)

    def read(self, file: str) -> str | None:
        """A file of the cgroup; None if the cgroup or the file is not there, or not readable."""
        data = contents(f"{self.path}/{file}")
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, file: str, text: str) -> None:
        """Write a file of the cgroup in one go, as the kernel wants it. Raises `OSError`; never makes a file."""
        descriptor = os.open(f"{self.path}/{file}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def words(self, file: str) -> frozenset[str]:
        """The words in a file, such as the names in `cgroup.controllers`."""
        return frozenset((self.read(file) or "").split())

    # What is below

    def children(self) -> list[Cgroup]:
        """The cgroups directly below, by name."""
        try:
            # Asked first: most have none, and listing the directory would mean dozens of kernel files.
            if os.stat(self.path).st_nlink <= _LINKS_WITHOUT_CHILDREN:
                return []
            return [self.child(name) for name in self._names()]
        except OSError as error:
            if error.errno in _GONE:
                return []
            raise

    def _names(self) -> list[str]:
        try:
            return _directories_in(self.path)
        except PermissionError:
            # An agent may shut its cgroup; being the same user, we may open it again. What is somebody else's stays
            # shut: what is in there is counted and killed with the cgroup that it is in.
            try:
                os.chmod(self.path, 0o755)  # noqa: S103 - as the kernel makes them # nosec B103
            except PermissionError:
                return []
            return _directories_in(self.path)

    def tree(self) -> Iterator[Cgroup]:
        """This cgroup and all below it, each before its children."""
        waiting = [self]
        while waiting:  # and no recursion: an agent may nest them deeper than Python goes
            group = waiting.pop()
            yield group
            waiting.extend(reversed(group.children()))

    # What is in it

    def pids(self) -> list[int]:
        """The processes in it and below, zombies left out. One of another pid namespace cannot be named, and is not."""
        found: dict[int, None] = {}
        for group in self.tree():
            data = contents(f"{group.path}/cgroup.procs")
            if data:
                found.update(dict.fromkeys(int(pid) for pid in data.split()))
        found.pop(0, None)
        return list(found)

    def own_pids(self) -> list[int]:
        """The processes in this very cgroup, and in none below it."""
        return [pid for pid in map(int, (contents(f"{self.path}/cgroup.procs") or b"").split()) if pid]

    def holds(self, pid: int) -> bool:
        """True if the process is in this cgroup or below it, by the process's own word and not by a list of ours."""
        name = unified_name_of(pid)
        return name is not None and (name == self.name or name.startswith(self.name.rstrip("/") + "/"))

    def admit(self, pid: int) -> None:
        """Move a process in, with all its threads. What it started earlier stays where it is. Raises `OSError`."""
        self.write("cgroup.procs", str(pid))

    def populated(self) -> bool:
        """True if a process runs in it or below. The kernel's word: a zombie does not count."""
        text = self.read("cgroup.events")
        return self.exists() if text is None else flags(text).get("populated", True)

    def frozen(self) -> bool:
        """True once everything in it and below stands still."""
        return flags(self.read("cgroup.events") or "").get("frozen", False)

    def to_be_frozen(self) -> bool:
        """True if it was asked to stand still itself; it may not have got there yet."""
        return (self.read("cgroup.freeze") or "").strip() == "1"

    # Taking it away

    def remove(self) -> bool:
        """Remove it with all below it; true if it is gone then. False while a process is in it."""
        for group in reversed(list(self.tree())):
            try:
                os.rmdir(group.path)
            except OSError as error:
                if error.errno not in _GONE and group.exists():
                    return False
        return True


def _directories_in(path: str) -> list[str]:
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def flags(text: str) -> dict[str, bool]:
    """What `cgroup.events` says: `populated 1`, `frozen 0`."""
    return {name: value == "1" for name, _, value in (line.partition(" ") for line in text.splitlines())}


def unified_name_of(pid: int) -> str | None:
    """The cgroup of version 2 of a process, as this process sees it; None if the process is gone or has none."""
    data = contents(f"/proc/{pid}/cgroup")
    for line in (data or b"").splitlines():
        if line.startswith(b"0::"):
            return os.fsdecode(line[3:])
    return None


def contents(path: str) -> bytes | None:
    """A kernel file; None if it is not there or cannot be read. Without a file object it takes half the time."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(descriptor, 1 << 16)
        # The kernel hands out a list page by page, each as full as whole lines go; a short file is over at once.
        while len(data) >= 1 << 11 and (part := os.read(descriptor, 1 << 16)):
            data += part
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data
