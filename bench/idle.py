"""What a team costs that does nothing: processes forked, and processor time.

Forks are counted by strace, which the kernel tells of every `fork`, `vfork`, `clone` and `clone3` of the processes
that it is attached to and of all that come from them: nothing is sampled, so nothing can slip through. (`processes`
in /proc/stat counts the whole machine, and `/proc/PID/task/*/children` shows only what lives at the moment.) Without
strace the count of the whole machine is all there is: an upper bound, and reported as one. Whichever counter it is
proves itself in the same run: an agent that is restarted afterwards must show up in it.

Processor time is the clock that the kernel keeps for each process and all its threads, exact to the nanosecond.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

#: An agent is idle after three seconds without output; the timers of the start are over by then as well.
_SETTLE_SECONDS = 5.0
_ATTACH_SECONDS = 10.0
_CALLS = ("fork(", "vfork(", "clone(", "clone3(")


@dataclass(frozen=True)
class Idle:
    """What happened while nothing happened."""

    seconds: float
    forks: int
    #: True if the forks are those of our processes; false if they are those of the whole machine.
    exact: bool
    #: What the same counter saw when one agent was restarted afterwards: proof that it counts.
    forks_of_a_restart: int
    #: Processor time as a share of one core, by process.
    cpu: Mapping[str, float]


def measure(processes: Mapping[str, int], seconds: float, restart_an_agent: Callable[[], None]) -> Idle:
    """Watch the processes for a while."""
    time.sleep(min(_SETTLE_SECONDS, seconds))
    exact = shutil.which("strace") is not None
    with _traced_forks(processes.values()) if exact else _machine_forks() as forks_so_far:
        forks_before, cpu_before, began = forks_so_far(), _cpu(processes), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        cpu = {name: (after - cpu_before[name]) / took for name, after in _cpu(processes).items()}
        forks = forks_so_far() - forks_before
        restart_an_agent()
        forks_of_a_restart = forks_so_far() - forks_before - forks
    return Idle(took, forks, exact, forks_of_a_restart, cpu)


def _cpu(processes: Mapping[str, int]) -> dict[str, float]:
    return {name: time.clock_gettime(_cpu_clock(pid)) for name, pid in processes.items()}


def _cpu_clock(pid: int) -> int:
    """What clock_getcpuclockid(3) gives: the number of the kernel's clock for the processor time of a process."""
    return (~pid << 3) | 2


@contextmanager
def _machine_forks() -> Iterator[Callable[[], int]]:
    def so_far() -> int:
        with open("/proc/stat", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("processes "))

    yield so_far


@contextmanager
def _traced_forks(pids: Collection[int]) -> Iterator[Callable[[], int]]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    strace = subprocess.Popen(
        [
            *("strace", "-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", "-e", "signal=none"),
            *("-o", f"/dev/fd/{write}"),
            *(word for pid in pids for word in ("-p", str(pid))),
        ],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    seen = ""

    def so_far() -> int:
        nonlocal seen
        with suppress(BlockingIOError):
            while data := os.read(read, 1 << 16):
                seen += data.decode("ascii", "replace")
        return sum(_is_fork(line) for line in seen.splitlines())

    try:
        _wait_attached(strace, pids)
        yield so_far
    finally:
        strace.send_signal(signal.SIGINT)  # it lets go of all of them, unharmed
        strace.communicate()
        os.close(read)


def _is_fork(line: str) -> bool:
    return any(f" {call}" in line for call in _CALLS) and "CLONE_THREAD" not in line


def _wait_attached(strace: subprocess.Popen[bytes], pids: Collection[int]) -> None:
    until = time.monotonic() + _ATTACH_SECONDS
    while not all(_tracer(pid) == strace.pid for pid in pids):
        if strace.poll() is not None:
            said = strace.communicate()[1].decode("utf-8", "replace").strip()
            raise SystemExit(f"bench: strace cannot watch our processes: {said}")
        if time.monotonic() > until:
            raise SystemExit(f"bench: strace did not attach within {_ATTACH_SECONDS:.0f} s")
        time.sleep(0.05)


def _tracer(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("TracerPid:"))
