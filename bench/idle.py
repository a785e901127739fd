"""What a team costs that does nothing: processes forked, and processor time.

Forks are counted by strace, which the kernel tells of every `fork`, `vfork`, `clone` and `clone3` of the processes
it is attached to and of all that come from them: nothing is sampled, so nothing can slip through. (`processes` in
/proc/stat counts the forks of the whole machine, and `/proc/PID/task/*/children` shows only children that live at
the moment one looks.) Without strace the count of the whole machine is all there is; it is an upper bound and is
marked as one. Either count is tested in the same run: an agent that is restarted must show up in it.

Processor time is the clock that the kernel keeps for each process, exact to the nanosecond, with all its threads.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

#: Agents count as idle after three seconds without output; timers of the start are over by then as well.
_SETTLE_SECONDS = 5.0
_ATTACH_SECONDS = 10.0
_FORKS = ("fork(", "vfork(", "clone(", "clone3(")


@dataclass(frozen=True)
class Idle:
    """What happened while nothing happened."""

    seconds: float
    forks: int
    #: How they were counted; with anything but strace the count is an upper bound.
    counted_by: str
    #: What the same counter saw when one agent was restarted afterwards: proof that it counts.
    forks_of_a_restart: int
    #: Processor time as a share of one core, by process.
    cpu: Mapping[str, float]


def measure(processes: Mapping[str, int], seconds: float, restart_an_agent: Callable[[], None]) -> Idle:
    """Watch the processes for a while."""
    time.sleep(_SETTLE_SECONDS)
    with _fork_counter(processes.values()) as (counted_by, count):
        forks_before, cpu_before, began = count(), _cpu(processes), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        cpu = {name: (after - cpu_before[name]) / took for name, after in _cpu(processes).items()}
        forks = count() - forks_before
        restart_an_agent()
        forks_of_a_restart = count() - forks_before - forks
    return Idle(took, forks, counted_by, forks_of_a_restart, cpu)


def _cpu(processes: Mapping[str, int]) -> dict[str, float]:
    return {name: time.clock_gettime(_cpu_clock(pid)) for name, pid in processes.items()}


def _cpu_clock(pid: int) -> int:
    """What clock_getcpuclockid(3) gives: the number of the kernel's clock for the processor time of a process."""
    return (~pid << 3) | 2


@contextmanager
def _fork_counter(pids: Iterable[int]) -> Iterator[tuple[str, Callable[[], int]]]:
    """How forks are counted, and a function that gives their number so far."""
    if shutil.which("strace") is None:
        yield "/proc/stat, the whole machine", _forks_of_machine
        return
    read, write = os.pipe()
    os.set_blocking(read, False)
    attach = [word for pid in pids for word in ("-p", str(pid))]
    # Lines of a pipe that is written at once; the name of a descriptor, because -o wants a file.
    strace = subprocess.Popen(
        ["strace", "-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", "-e", "signal=none", "-o", f"/dev/fd/{write}"]
        + attach,
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    try:
        _wait_attached(strace, pids)
        yield "strace", _LinesOf(read).forks
    finally:
        strace.send_signal(signal.SIGINT)  # it lets go of all of them, unharmed
        strace.communicate()
        os.close(read)


class _LinesOf:
    """Counts the forks in what strace has written so far."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._text = ""

    def forks(self) -> int:
        try:
            while data := os.read(self._descriptor, 1 << 16):
                self._text += data.decode("ascii", "replace")
        except BlockingIOError:
            pass
        return sum(
            any(f" {call}" in line for call in _FORKS) and "CLONE_THREAD" not in line
            for line in self._text.splitlines()
        )


def _wait_attached(strace: subprocess.Popen[bytes], pids: Iterable[int]) -> None:
    until = time.monotonic() + _ATTACH_SECONDS
    while not all(_tracer(pid) == strace.pid for pid in pids):
        if strace.poll() is not None or time.monotonic() > until:
            said = (
                strace.stderr.read().decode("utf-8", "replace") if strace.poll() is not None and strace.stderr else ""
            )
            raise SystemExit(f"bench: strace cannot watch the processes: {said.strip() or 'it does not attach'}")
        time.sleep(0.05)


def _tracer(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("TracerPid:"))


def _forks_of_machine() -> int:
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("processes "))
