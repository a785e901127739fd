"""Finding processes again whose host was killed: are they alive, where is their output, and how did they end?

Only a parent is told how a process ended. Others can see it until the parent was told; and since Linux 6.15 after that
too, by a pidfd that they had before.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator

from corral.adapters.subprocess import host_procfs as procfs
from corral.adapters.subprocess.records import ProcessRecord

_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
#: mask, cgroup, pid, tgid, ppid, eight kinds of user and group, exit code
_PIDFD_INFO = struct.Struct("=QQ3I8Ii")


class Recovery:
    """Looks for what an earlier host left, once."""

    def __init__(self, boot: str) -> None:
        #: What began before this boot is gone, whatever has its pid.
        self._boot = boot
        self._marked: dict[str, list[int]] | None = None

    def pidfd_of(self, record: ProcessRecord) -> int:
        """A pidfd of this very process; -1 if it is gone, and its pid is perhaps another's."""
        if record.boot != self._boot or not record.pid:
            return -1
        try:
            descriptor = os.pidfd_open(record.pid)
        except ProcessLookupError:
            return -1
        if procfs.runs(record.pid, record.start):
            return descriptor
        os.close(descriptor)
        return -1

    def output_of(self, record: ProcessRecord) -> int:
        """The pipe that a process writes to, opened anew by way of whoever has it open; -1 if nobody has."""
        if record.boot != self._boot or record.tty:
            return -1  # a terminal went with the host that held it
        for pid in self._members(record):
            directory = f"/proc/{pid}/fd"
            try:
                for entry in os.listdir(directory):
                    if os.readlink(f"{directory}/{entry}") == record.output:
                        return os.open(f"{directory}/{entry}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                continue  # it ended while we looked, or became somebody else's
        return -1

    def exit_of(self, record: ProcessRecord, pidfd: int) -> tuple[int | None, int | None] | None:
        """Exit code and signal of a process that has ended and is not our child; None if nobody tells us.

        The pidfd is -1 if it was too late to have one.
        """
        if record.boot != self._boot or not record.pid:
            return None
        status = procfs.status_of_zombie(record.pid, record.start)
        if status is None and pidfd >= 0:
            status = _status_of_reaped(pidfd)
        if status is None:
            return None
        if os.WIFSIGNALED(status):
            return None, os.WTERMSIG(status)
        return os.WEXITSTATUS(status), None

    def find_leader(self, record: ProcessRecord) -> None:
        """Find the command of a record that was written before it was born: the first of it that leads a session."""
        if record.boot != self._boot:
            return
        leaders = [(procfs.start_of(pid), pid) for pid in self._members(record) if procfs.leads_a_session(pid)]
        if leaders:
            record.start, record.pid = min(leaders)

    def _members(self, record: ProcessRecord) -> Iterator[int]:
        if record.pid:
            yield record.pid
        if record.cgroup:
            from corral.adapters.cgroup.tree import Cgroup

            yield from Cgroup(name=record.cgroup, path=record.cgroup).pids()
            return
        if self._marked is None:
            self._marked = {}
            for pid in procfs.every_pid():
                mark = procfs.process_marked_on(pid)
                if mark is not None:
                    self._marked.setdefault(mark, []).append(pid)
        yield from self._marked.get(record.process, ())


def _status_of_reaped(pidfd: int) -> int | None:
    request = bytearray(_PIDFD_INFO.size)
    _PIDFD_INFO.pack_into(request, 0, _PIDFD_INFO_EXIT, *([0] * 13))
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, request)
    except OSError:
        return None  # a kernel that does not know the question
    mask, *_, status = _PIDFD_INFO.unpack(request)
    return int(status) if mask & _PIDFD_INFO_EXIT else None
