"""A daemon that nobody needs goes away by itself, as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from corral.supervise.registry import Registry


class Linger:
    """Calls back once the last team has been down for a while and no work is under way.

    A daemon that has had no team yet was started on purpose, and stays.
    """

    def __init__(self, registry: Registry, seconds: float | None) -> None:
        self._registry = registry
        self._seconds = seconds
        self._under_way = 0
        self._timer: asyncio.TimerHandle | None = None
        self._end: Callable[[], None] = lambda: None

    def on_idle(self, end: Callable[[], None]) -> None:
        """What to do when the time has come."""
        self._end = end

    def busy(self, change: int) -> None:
        """Work began (1) or ended (-1)."""
        self._under_way += change
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._under_way == 0 and self._seconds is not None and not self._registry.teams:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)
