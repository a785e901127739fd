"""Things that happen at their time unless something else happens first: one timer a name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)


class Alarms(Generic[_K]):
    """On the event loop's clock, which nobody can set and which stands still while the host is suspended."""

    def __init__(self) -> None:
        self._timers: dict[_K, asyncio.TimerHandle] = {}

    def set(self, name: _K, seconds: float, ring: Callable[[], object]) -> None:
        """Ring then, and not when it was to ring before."""
        self.cancel(name)
        self._timers[name] = asyncio.get_running_loop().call_later(max(0.0, seconds), self._ring, name, ring)

    def cancel(self, name: _K) -> None:
        """Do not ring; again is no harm."""
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def __contains__(self, name: _K) -> bool:
        return name in self._timers

    def end(self) -> None:
        """Nothing rings any more."""
        for name in list(self._timers):
            self.cancel(name)

    def _ring(self, name: _K, ring: Callable[[], object]) -> None:
        del self._timers[name]
        ring()
