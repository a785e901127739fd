"""Ending everything in some cgroups.

Ask (TERM, and HUP at a terminal), wait until the kernel says that they are empty or the grace period is over, then
kill. Nobody can hide: a child is born into the cgroup of its parent, whatever session, parent or environment it gives
itself. What *moved* to another cgroup is not found here; the marker in its environment is what it is known by then.

A zombie is not in its cgroup any more. One whose parent does not reap it is not left over: nothing of it runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from corral.adapters.cgroup import events, killing
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.ending import Ending, asking, wait_gone
from corral.adapters.procfs.processes import Process

#: How long a killed process may take to end before we say that it cannot be ended.
_KILL_SECONDS = 10.0
#: The same, if all that is left waits for the kernel (state D). It may never end, and is reported instead.
_KERNEL_SECONDS = 2.0
#: The kill is repeated this often, for what was moved in from elsewhere meanwhile.
_KILL_WAIT = 0.25
#: What ends last gets this long to do so by itself.
_LAST_SECONDS = 1.0
#: Until the next look, if something runs but is in no list: it forks too fast, or its pid means nothing here.
_HIDDEN_WAIT = 0.1
#: Processes whose end is followed one by one; with thousands there would not be descriptors enough.
_WATCHED = 64


def members(groups: Sequence[Cgroup]) -> list[tuple[Cgroup, Process]]:
    """What runs in the cgroups and below them, each with the one of `groups` it is in. Never this process itself."""
    found = ((group, proc.read(pid)) for group in groups for pid in _others(group))
    return [(group, process) for group, process in found if process is not None]


async def end(
    groups: Sequence[Cgroup],
    grace: float,
    ends_last: Callable[[Process], bool] = lambda _: False,
) -> Ending:
    """End what is in the cgroups and below. They may overlap, may be frozen, and need not exist; they are not removed.

    What `ends_last` is not asked while anything else runs, and then gets a moment to go by itself. With a grace of 0
    everything is killed at once, and nothing is asked first.
    """
    if grace > 0:
        await _ask(groups, grace, ends_last)
    killed, left = await _kill(groups, ends_last)
    return Ending(killed=killed, left=left)


async def _ask(
    groups: Sequence[Cgroup],
    grace: float,
    ends_last: Callable[[Process], bool],
) -> None:
    """Ask all of them to end; return when they have, or when the grace period is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace
    patience = loop.time() + _LAST_SECONDS
    asked: set[tuple[int, int]] = set()
    while _populated(groups):
        alive = members(groups)
        first = [(group, process) for group, process in alive if not ends_last(process)]
        if first or not alive:
            patience = loop.time() + _LAST_SECONDS
        elif loop.time() >= patience:
            first = alive
        for group, process in first:
            if process.key not in asked:
                asked.add(process.key)
                killing.signal_member(group, process.pid, *asking(process))
        # After the signals: what was frozen finds them when it wakes, and has no time for anything else.
        for group in groups:
            killing.thaw(group)
        remaining = deadline - loop.time()
        if remaining <= 0:
            return
        if not alive:
            remaining = min(remaining, _HIDDEN_WAIT)
        elif not first:
            remaining = min(remaining, max(patience - loop.time(), 0))
        # Of a process whose first thread ended before the others, only the cgroup knows when it is over.
        watched = [process for _, process in first if process.state != "Z"][:_WATCHED]
        waits: list[Coroutine[Any, Any, bool]] = [events.wait_empty(groups, remaining)]
        if watched:
            waits.append(wait_gone(watched, remaining))
        await _first_of(waits)


async def _kill(groups: Sequence[Cgroup], ends_last: Callable[[Process], bool]) -> tuple[int, list[Process]]:
    """Kill until nothing is left, or until what is left is proved not to go. How many were killed, and what is left."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    killed: set[tuple[int, int]] = set()
    while populated := _populated(groups):
        alive = members(groups)
        left = [process for _, process in alive]
        took = loop.time() - began
        if took > _KILL_SECONDS or (took > _KERNEL_SECONDS and {process.state for process in left} == {"D"}):
            return len(killed), left
        killed.update(process.key for process in left if not ends_last(process))
        for group in populated:
            if group.holds(os.getpid()):
                # We would be the first to go. Whoever lets it come to this gets the slower way.
                for pid in _others(group):
                    killing.signal_member(group, pid, signal.SIGKILL)
            else:
                await killing.kill(group)
        await events.wait_empty(populated, _KILL_WAIT)
    return len(killed), []


def _populated(groups: Sequence[Cgroup]) -> list[Cgroup]:
    """Those in which something runs, by the kernel's word: what forks fast enough is in no list when it is read."""
    return [
        group for group in groups if group.populated() and (not group.holds(os.getpid()) or next(_others(group), None))
    ]


def _others(group: Cgroup) -> Iterator[int]:
    return (pid for pid in group.pids() if pid != os.getpid())


async def _first_of(waits: Sequence[Coroutine[Any, Any, bool]]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
