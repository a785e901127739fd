"""Signals to what is in a cgroup: to one process of it, or the end of all of them at once.

A signal goes only to a process that is in the cgroup at that moment: a pidfd is opened first, then the process is
asked which cgroup it is in, then the signal goes through the pidfd. A pid that changed hands in between is not hit.
"""

from __future__ import annotations

import os
import signal

from corral.adapters.cgroup import events
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc

#: A cgroup usually stands still after a millisecond. One that holds a process in D state never does.
_FREEZE_SECONDS = 1.0


def signal_member(group: Cgroup, pid: int, *numbers: signal.Signals) -> bool:
    """Send the signals to a process of the cgroup. False if it is gone, moved elsewhere, or not ours to signal."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not group.holds(pid):
            return False
        for number in numbers:
            signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(descriptor)
    return True


async def kill(group: Cgroup) -> None:
    """Kill everything in the cgroup and below, what forks meanwhile included. Does not wait for the end of it.

    Where the kernel has `cgroup.kill` (5.14) this is one write, and reaches processes of other users too. Before that
    the cgroup is frozen first.
    """
    try:
        group.write("cgroup.kill", "1")
    except OSError:
        if group.exists():
            await kill_frozen(group)
        return
    # The kernel signals the first thread of each process. Where that has ended before the others, nothing happens:
    # the process as a whole has to be killed.
    for pid in group.pids():
        process = proc.read(pid)
        if process is not None and process.state == "Z":
            signal_member(group, pid, signal.SIGKILL)


async def kill_frozen(group: Cgroup) -> None:
    """Kill all in a cgroup as older kernels need it: what stands still cannot fork, and yet it can be killed.

    If it does not stand still in a moment (a process in D state), what can be killed is killed all the same, and
    whoever calls this looks again.
    """
    _ask(group, "1")
    await events.wait_frozen([group], True, _FREEZE_SECONDS)
    killed: set[int] = set()
    while found := [pid for pid in group.pids() if pid not in killed]:
        killed.update(found)
        for pid in found:
            if pid != os.getpid():
                signal_member(group, pid, signal.SIGKILL)
    thaw(group)


async def freeze(group: Cgroup, seconds: float) -> bool:
    """Stop everything in the cgroup and below; true if all of it stands still within `seconds`."""
    _ask(group, "1")
    return await events.wait_frozen([group], True, seconds)


def thaw(group: Cgroup) -> None:
    """Let everything in the cgroup and below run again, whoever froze which part of it."""
    for one in group.tree():
        if one.to_be_frozen():
            _ask(one, "0")


def _ask(group: Cgroup, frozen: str) -> None:
    try:
        group.write("cgroup.freeze", frozen)
    except OSError:
        return  # gone, or a kernel before 5.2: then it does not stand still, and that is seen
