"""What runs beside the caller: tasks, held on to and never failing in silence, and children with lives of their own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol, TypeVar

log = logging.getLogger("corral")


_First = TypeVar("_First")
_Second = TypeVar("_Second")


async def both(first: Awaitable[_First], second: Awaitable[_Second]) -> tuple[_First, _Second]:
    """What comes of two that run side by side. Neither is left half-way: an error, the first one's before the second
    one's, is raised when both are over.
    """
    one, other = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(other, BaseException):
        raise other
    return one, other


class Background:
    """A set of running tasks. An exception in one is logged with its name and harms no other."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str | None = None) -> asyncio.Task[Any]:
        """Run `coroutine` beside the caller."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def settled(self) -> None:
        """Return when none of them runs any more, also none that was added meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cancel(self) -> None:
        """Ask all of them to end."""
        for task in self._tasks:
            task.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background task %s failed", task.get_name(), exc_info=error)


class Child(Protocol):
    """A process that this one started: a `subprocess.Popen`, or what is as good."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code; None as long as it runs."""
        ...

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        ...


def reap_when_it_ends(process: Child) -> None:
    """Take note of the end of a child that lives for itself, so that no zombie stays."""
    if process.poll() is not None:
        return
    loop = asyncio.get_running_loop()
    descriptor = os.pidfd_open(process.pid)

    def ended() -> None:
        loop.remove_reader(descriptor)
        with contextlib.suppress(OSError):
            os.close(descriptor)
        process.wait()

    loop.add_reader(descriptor, ended)
