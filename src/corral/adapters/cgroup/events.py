"""Waiting for cgroups without polling them: the kernel tells when `cgroup.events` changes.

It tells by `POLLPRI`, for which asyncio has no words. So the files are put into an epoll of their own, and the loop
watches that: it becomes readable when something in it happened. (inotify would do as well, but a user has only so many
instances of it, and other programs need them.)
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections.abc import Callable, Sequence

from corral.adapters.cgroup.tree import Cgroup, flags

#: Watched at the same time, so that a big team needs no more descriptors than a small one.
_AT_ONCE = 64
#: A change that is followed by the removal of the cgroup may never be told. Then this look finds it.
_RECHECK_SECONDS = 0.5


async def wait_empty(groups: Sequence[Cgroup], seconds: float) -> bool:
    """Wait until each was seen without a running process, or gone. False if some was not within `seconds`."""
    return await _wait(groups, lambda now: not now.get("populated", False), seconds)


async def wait_frozen(groups: Sequence[Cgroup], frozen: bool, seconds: float) -> bool:
    """Wait until each stands still, or runs again; one that is gone does both."""
    return await _wait(groups, lambda now: now.get("frozen", frozen) is frozen, seconds)


async def _wait(groups: Sequence[Cgroup], holds: Callable[[dict[str, bool]], bool], seconds: float) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    for first in range(0, len(groups), _AT_ONCE):
        watch = _Watch(groups[first : first + _AT_ONCE], holds)
        try:
            if not await watch.over(deadline):
                return False
        finally:
            watch.close()
    return True


class _Watch:
    """Some cgroups that something is waited for in; each is let go as soon as it holds there."""

    def __init__(self, groups: Sequence[Cgroup], holds: Callable[[dict[str, bool]], bool]) -> None:
        self._holds = holds
        self._poller = select.epoll(len(groups))
        self._files: set[int] = set()
        self._changed = asyncio.Event()
        try:
            for group in groups:
                try:
                    file = os.open(f"{group.path}/cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
                except FileNotFoundError:
                    continue
                self._files.add(file)
                self._poller.register(file, select.EPOLLPRI)
        except OSError:
            self.close()
            raise

    async def over(self, deadline: float) -> bool:
        """True once it held in each of them; false at the deadline."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._poller.fileno(), self._changed.set)
        try:
            while True:
                self._changed.clear()
                for file in list(self._files):
                    self._look(file)
                if not self._files:
                    return True
                remaining = deadline - loop.time()
                if remaining <= 0:
                    return False
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), min(remaining, _RECHECK_SECONDS))
        finally:
            loop.remove_reader(self._poller.fileno())

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files.clear()
        self._poller.close()

    def _look(self, file: int) -> None:
        try:
            # By this descriptor: having been read through it is what makes the kernel quiet until the next change.
            over = self._holds(flags(os.pread(file, 4096, 0).decode("ascii")))
        except OSError:
            over = True  # the cgroup was removed
        if over:
            self._poller.unregister(file)
            self._files.discard(file)
            os.close(file)
