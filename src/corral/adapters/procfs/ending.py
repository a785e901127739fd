"""Ending a set of processes with everything they started, to a fixpoint.

Ask (TERM, and HUP at a terminal), wait for the grace period, then kill, and look again until a look finds nothing new.
The set only grows: whatever once descended from one of ours stays ours, even after its parent died and it was handed to
init.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process

#: How long to go on killing before we say that something cannot be ended. What forks as fast as it is killed loses long
#: before: it has to get away every time, and we have to catch it once.
_KILL_SECONDS = 10.0
#: The same, if all that is left waits for the kernel (state D), which may be for ever, or became somebody else's.
_HOPELESS_SECONDS = 2.0
_KILL_WAIT = 0.25
#: A list of processes takes a moment to read. What forks and ends meanwhile may be nowhere in it: so who was born since
#: is looked at too, until nobody was. That takes two or three rounds; on a host that never stops forking, not for ever.
_CATCHING_UP = 100
#: How far ahead a child's pid may be, and how often in a row we run after one.
_NEXT_PIDS = 200
_CHASES = 50
#: What ends last gets this long to do so by itself.
_LAST_SECONDS = 1.0


_ASKED, _ASKED_AT_A_TERMINAL = (signal.SIGTERM, signal.SIGCONT), (signal.SIGTERM, signal.SIGHUP, signal.SIGCONT)


@dataclass(slots=True)
class Ending:
    """What came of it."""

    #: Processes that had to be killed because the grace period was over.
    killed: int = 0
    #: Processes that are still there.
    left: list[Process] = field(default_factory=list)


def asking(process: Process) -> Sequence[signal.Signals]:
    """How a process is asked to end. A stopped one has to go on for that.

    A shell at a terminal hears TERM not at all, but that its terminal is gone. Whoever has none would not expect that,
    and dies of it in the middle of ending politely.
    """
    return _ASKED_AT_A_TERMINAL if process.has_terminal else _ASKED


class _Family:
    """The processes found so far that still run, growing with each look."""

    def __init__(self, find_roots: Callable[[list[Process]], list[Process]]) -> None:
        self._find_roots = find_roots
        self._known: dict[tuple[int, int], Process] = {}

    def chase(self, ended: list[Process]) -> list[Process]:
        """What was started while the last look took its time: only the next pids are read, which is quick.

        What forks and ends, over and over, is never in a list of a thousand processes long enough to be met. Its
        children have the next pids, and its marker.
        """
        last = max(process.pid for process in ended)
        born = [process for pid in range(last + 1, last + _NEXT_PIDS) if (process := proc.read(pid)) is not None]
        alive = [process for process in self._find_roots(born) if proc.is_alive(process)]
        self._known.update((process.key, process) for process in alive)
        return alive

    def look(self) -> list[Process]:
        """What there is of it now."""
        last = proc.last_pid()
        everyone = proc.every_process()
        running = {process.key: process for process in everyone}
        roots = [running[key] for key in self._known if key in running]
        roots.extend(self._find_roots(everyone))
        alive = proc.with_descendants(everyone, roots)
        for _ in range(_CATCHING_UP):
            newest = proc.last_pid()
            if alive or newest == last:
                break
            alive = self._find_roots(proc.born_between(last, newest))
            last = newest
        self._known = {process.key: process for process in alive}
        return alive


async def end(
    find_roots: Callable[[list[Process]], list[Process]],
    grace: float,
    ends_last: Callable[[Process], bool] = lambda _: False,
) -> Ending:
    """End what `find_roots` picks out of all processes, and all that descends from it: asked first.

    What `ends_last` is not asked while anything else of the family runs, and then gets a moment to go by itself.
    """
    family = _Family(find_roots)
    outcome = Ending()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace
    patience = loop.time() + _LAST_SECONDS
    asked: set[tuple[int, int]] = set()
    while alive := family.look():
        first = [process for process in alive if not ends_last(process)]
        if first:
            patience = loop.time() + _LAST_SECONDS
        elif loop.time() >= patience:
            first = alive
        for process in first:
            if process.key not in asked:
                asked.add(process.key)
                for number in asking(process):
                    proc.send_signal(process, number)
        remaining = deadline - loop.time()
        if remaining <= 0:
            break
        await wait_gone(first or alive, remaining if first else min(remaining, patience - loop.time()))
    killed: set[tuple[int, int]] = set()
    began = loop.time()
    while alive := family.look():
        took = loop.time() - began
        hopeless = all(process.state == "D" or not proc.may_signal(process) for process in alive)
        if took > _KILL_SECONDS or (took > _HOPELESS_SECONDS and hopeless):
            break
        for _ in range(_CHASES):
            for process in alive:
                last = ends_last(process)
                if proc.send_signal(process, signal.SIGKILL) and not last:
                    killed.add(process.key)
            born = family.chase(alive)
            if not born:
                break
            alive = born
        await wait_gone(alive, _KILL_WAIT)
    outcome.killed = len(killed)
    outcome.left = family.look()
    return outcome


async def wait_gone(processes: list[Process], seconds: float) -> bool:
    """Wait until all of them ended; False if some had not after `seconds`. Costs nothing while waiting."""
    loop = asyncio.get_running_loop()
    all_gone = asyncio.Event()
    watched: set[int] = set()

    def ended(descriptor: int) -> None:
        loop.remove_reader(descriptor)
        watched.discard(descriptor)
        os.close(descriptor)
        if not watched:
            all_gone.set()

    for process in processes:
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        if not proc.is_alive(process):
            os.close(descriptor)
            continue
        watched.add(descriptor)
        loop.add_reader(descriptor, ended, descriptor)
    try:
        if watched:
            await asyncio.wait_for(all_gone.wait(), seconds)
    except TimeoutError:
        return False
    finally:
        for descriptor in watched:
            loop.remove_reader(descriptor)
            os.close(descriptor)
    return True
