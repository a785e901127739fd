"""Processes by a mark in their environment: what the bench counts, and how it ends what a contestant left behind.

This shares nothing with Corral's own census, so that neither can repeat a mistake of the other. A mark is random, and
a process is its pid and the time it started: nothing is ended that is not proved to be the bench's own.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

VARIABLE = "BENCH_MARK"
_END_SECONDS = 30.0


@dataclass(frozen=True)
class Process:
    """One process, and no other that gets its pid later."""

    pid: int
    #: In ticks since the machine started.
    started: int


@dataclass(frozen=True)
class _Stat:
    process: Process
    program: str
    parent: int


def of_mark(mark: str, program: str | None = None) -> set[Process]:
    """The living processes that have the mark, or those of them that run a program of this name."""
    wanted = f"{VARIABLE}={mark}".encode()
    return {
        stat.process
        for stat in _living()
        if program in (None, stat.program) and wanted in _environment(stat.process.pid).split(b"\0")
    }


def family(pid: int) -> set[Process]:
    """A process and its children."""
    return {stat.process for stat in _living() if pid in (stat.process.pid, stat.parent)}


def living_of(processes: Collection[Process]) -> set[Process]:
    """Those that have not ended."""
    return {stat.process for stat in _living()} & set(processes)


def end(mark: str, others: Collection[Process] = ()) -> None:
    """Kill everything that has the mark, and the others, until nothing of it is left."""
    until = time.monotonic() + _END_SECONDS
    # More than once: what is killed may have been starting something.
    while left := of_mark(mark) | living_of(others):
        for process in left:
            _kill(process)
        if time.monotonic() > until:
            raise SystemExit(f"bench: these processes cannot be ended: {sorted(one.pid for one in left)}")
        time.sleep(0.05)


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process.pid)
        try:
            # Looked at again while it is held: whatever has this pid from now on, the signal goes to this one.
            stat = _stat(process.pid)
            if stat is not None and stat.process == process:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _living() -> Iterator[_Stat]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = _stat(int(name))
            if stat is not None:
                yield stat


def _stat(pid: int) -> _Stat | None:
    """None if the process has ended, also if nobody has taken notice yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            head, _, tail = file.read().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent, *rest = tail.split()
    # Fields 3, 4 and 22 of proc_pid_stat(5).
    return None if state in "ZX" else _Stat(Process(pid, int(rest[17])), head.partition("(")[2], int(parent))


def _environment(pid: int) -> bytes:
    # Other people's cannot be read, and are not ours.
    with suppress(FileNotFoundError, ProcessLookupError, PermissionError), open(f"/proc/{pid}/environ", "rb") as file:
        return file.read()
    return b""
