"""The little that the host needs of `/proc`, without what `adapters.procfs` would load with it."""

from __future__ import annotations

import os

_MARKER = b"CORRAL_PROCESS="
#: More than any line there is long, and the kernel gives it in one piece.
_STAT_BYTES = 8192


def boot_id() -> str:
    """The kernel's name for this boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def start_of(pid: int) -> int:
    """When a process was started, in clock ticks after boot; 0 if there is none. Its zombie counts as well."""
    fields = _stat(pid)
    return 0 if fields is None else int(fields[19])


def runs(pid: int, start: int) -> bool:
    """True while the process with this pid and this start runs; false for its zombie."""
    fields = _stat(pid)
    return fields is not None and fields[0] not in (b"Z", b"X") and int(fields[19]) == start


def leads_a_session(pid: int) -> bool:
    """True for a process that runs and began a session of its own."""
    fields = _stat(pid)
    return fields is not None and fields[0] not in (b"Z", b"X") and int(fields[3]) == pid


def status_of_zombie(pid: int, start: int) -> int | None:
    """How a process ended that nobody has reaped yet, as `waitpid` has it; None if it is not there, or not a zombie."""
    fields = _stat(pid)
    if fields is None or fields[0] != b"Z" or int(fields[19]) != start:
        return None
    return int(fields[49])


def children() -> list[int]:
    """The children of this process: those it started, and the orphans that were handed to it."""
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # a kernel that does not offer the list
        return [pid for pid in every_pid() if (fields := _stat(pid)) is not None and int(fields[1]) == own]


def every_pid() -> list[int]:
    """All processes that can be seen."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def process_marked_on(pid: int) -> str | None:
    """The id that a process has in its environment; None if there is none, or it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return None  # gone, or another user's
    for variable in variables:
        if variable.startswith(_MARKER):
            return os.fsdecode(variable[len(_MARKER) :])
    return None


def _stat(pid: int) -> list[bytes] | None:
    """What `/proc/PID/stat` has behind the name, which is in parentheses and may hold any byte."""
    try:
        # Three calls of the kernel, where a file of Python's takes nine: this is done for every command.
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, _STAT_BYTES).rpartition(b")")[2].split()
        finally:
            os.close(descriptor)
    except (FileNotFoundError, ProcessLookupError):
        return None
