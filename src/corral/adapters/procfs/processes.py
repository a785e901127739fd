"""Processes as `/proc` shows them, proved to be the ones we mean.

A pid alone proves nothing: it is used again. A process here is a pid *and* its start time, found by the marker in its
environment or by descending from one that was. Signals go through a pidfd that was opened first and checked after, so
that a pid which changed hands in between is never hit.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from corral.domain.environment import RUN_VARIABLE

#: Of what has ended, though it may still have its pid.
ENDED_STATES = frozenset("ZX")
#: Stopped by a signal, or by whoever traces it.
STANDING_STILL = frozenset("Tt")
#: kthreadd: the parent of everything that lives in the kernel.
_KERNEL_THREADS = 2
_EXEC_SECONDS = 0.003


@dataclass(frozen=True, slots=True)
class Process:
    """A process at the time of a scan."""

    pid: int
    #: Clock ticks after boot: with the pid it names one process for as long as the host is up.
    start: int
    parent: int
    session: int
    state: str
    name: str
    #: It has a terminal that it can be hung up from.
    has_terminal: bool = False

    @property
    def key(self) -> tuple[int, int]:
        return (self.pid, self.start)


def boot_id() -> str:
    """The kernel's name for this boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def read(pid: int) -> Process | None:
    """The process with this pid, or None if there is none (a zombie still counts as one)."""
    try:
        raw = _contents(f"/proc/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name is in parentheses and may hold any byte, parentheses and blanks included.
    opening, closing = raw.index(b"("), raw.rindex(b")")
    fields = raw[closing + 2 :].split()
    return Process(
        pid=pid,
        state=fields[0].decode("ascii"),
        parent=int(fields[1]),
        session=int(fields[3]),
        start=int(fields[19]),
        has_terminal=fields[4] != b"0",
        name=raw[opening + 1 : closing].decode("utf-8", "replace"),
    )


def is_alive(process: Process) -> bool:
    """True while this very process runs; false once it is gone, a zombie, or another one under its pid."""
    now = read(process.pid)
    return now is not None and now.start == process.start and now.state not in ENDED_STATES


def environment(pid: int) -> bytes:
    """The environment the process was started with, NUL-separated; empty if it is gone or not ours to read."""
    try:
        return _contents(f"/proc/{pid}/environ")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def argument_vector(pid: int) -> list[bytes]:
    """The arguments the process was started with, the first 4 KiB of them; none if it is gone or has none."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(4096).rstrip(b"\0").split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def command_line(pid: int) -> str:
    """The command line for a person to read, shortened; the name in brackets where there is none."""
    text = b" ".join(argument_vector(pid)).decode("utf-8", "replace").strip()
    if text:
        return text if len(text) <= 160 else text[:159] + "…"
    process = read(pid)
    return f"[{process.name}]" if process else "[gone]"


def pids() -> Iterator[int]:
    """Every pid of this pid namespace, a zombie's too."""
    return (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())


def every_process() -> list[Process]:
    """All processes of this pid namespace that run, zombies left out."""
    return _running(pids())


def last_pid() -> int:
    """The pid that was given out last in this pid namespace, to a process or to a thread."""
    return int(_contents("/proc/loadavg").split()[-1])


def born_between(before: int, last: int) -> list[Process]:
    """The processes that run with pids given out after `before`, up to `last`; all there are if pids began anew."""
    if last < before:
        return every_process()
    # A thread has a directory too, if asked for by name: it is no process of its own.
    return [process for process in _running(range(before + 1, last + 1)) if _is_process(process.pid)]


def named(prefix: bytes) -> list[Process]:
    """The running processes whose name begins so; told from the others by their names alone, which is quick."""
    return _running(pid for pid in pids() if _name(pid).startswith(prefix))


def marked(processes: Iterable[Process], markers: Iterable[bytes]) -> list[Process]:
    """Those whose environment holds every marker (each a whole `NAME=value`)."""
    wanted = list(markers)
    found, blank = [], []
    for process in processes:
        variables = environment(process.pid)
        if not variables:
            blank.append(process)
        elif all(_holds(variables, marker) for marker in wanted):
            found.append(process)
    blank = [process for process in blank if _KERNEL_THREADS not in (process.pid, process.parent)]
    if blank:
        # In the middle of an exec a process has no environment for a moment; most others never have one.
        time.sleep(_EXEC_SECONDS)
        for process in blank:
            variables = environment(process.pid)
            if variables and all(_holds(variables, marker) for marker in wanted):
                found.append(process)
    return found


def marker_value(variables: bytes, name: bytes) -> str | None:
    """The value of a variable in a NUL-separated environment."""
    for variable in variables.split(b"\0"):
        if variable.startswith(name + b"="):
            return variable[len(name) + 1 :].decode("utf-8", "replace")
    return None


def children(pid: int) -> list[int]:
    """The children of a process, oldest first; none if it is gone."""
    try:
        return [int(child) for child in _contents(f"/proc/{pid}/task/{pid}/children").split()]
    except FileNotFoundError:
        # Gone, or a kernel that does not offer the list.
        return [process.pid for process in every_process() if process.parent == pid]
    except ProcessLookupError:
        return []


def is_of_a_run(process: Process) -> bool:
    """True if an agent started it, directly or not."""
    return marker_value(environment(process.pid), RUN_VARIABLE.encode()) is not None


def with_descendants(processes: Iterable[Process], roots: Iterable[Process]) -> list[Process]:
    """The roots and everything below them in the tree of parents, each once."""
    everyone = list(processes)
    children: dict[int, list[Process]] = {}
    for process in everyone:
        children.setdefault(process.parent, []).append(process)
    found: dict[tuple[int, int], Process] = {}
    queue = list(roots)
    while queue:
        process = queue.pop()
        if process.key not in found:
            found[process.key] = process
            queue.extend(children.get(process.pid, ()))
    return list(found.values())


def send_signal(process: Process, number: signal.Signals) -> bool:
    """Signal this very process. False if it is gone, or if we may not."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (ProcessLookupError, OSError):
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(descriptor)
    return True


def with_parents(pid: int) -> set[int]:
    """The process, its parent, and so on up."""
    found: set[int] = set()
    process = read(pid)
    while process is not None and process.pid not in found:
        found.add(process.pid)
        process = read(process.parent) if process.parent else None
    return found


def may_signal(process: Process) -> bool:
    """False for what became another user's: an agent may use sudo."""
    try:
        os.kill(process.pid, 0)
    except PermissionError:
        return False
    except ProcessLookupError:
        return True
    return True


def _is_process(pid: int) -> bool:
    try:
        return f"Tgid:\t{pid}\n".encode() in _contents(f"/proc/{pid}/status")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _running(pids: Iterable[int]) -> list[Process]:
    found = (read(pid) for pid in pids)
    return [process for process in found if process is not None and process.state not in ENDED_STATES]


def _name(pid: int) -> bytes:
    try:
        return _contents(f"/proc/{pid}/comm")
    except (FileNotFoundError, ProcessLookupError):
        return b""


def _contents(path: str) -> bytes:
    """A file of /proc. A scan reads hundreds of them, and with a file object each would take twice as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def _holds(variables: bytes, marker: bytes) -> bool:
    at = variables.find(marker)
    while at >= 0:
        end = at + len(marker)
        if (at == 0 or variables[at - 1] == 0) and (end == len(variables) or variables[end] == 0):
            return True
        at = variables.find(marker, at + 1)
    return False
