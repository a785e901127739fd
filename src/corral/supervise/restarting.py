"""Restarts by policy that are still to come, each at its time.

The time follows from the agent's record: whoever asks again, or comes after a crash, waits for what is left of the
pause and not for the whole of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from corral.background import Background
from corral.domain import lifecycle, restarts
from corral.domain.records import Agent


class Restarting:
    """One timer an agent at most. `restart` is called when a pause is over; it looks whether it is still wanted."""

    def __init__(self, now: Callable[[], float], restart: Callable[[Agent], Coroutine[Any, Any, None]]) -> None:
        self._now = now
        self._restart = restart
        self._timers: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._background = Background()

    def plan(self, agent: Agent) -> None:
        """Have the agent, whose record says `backoff`, started when its pause is over. Again is no harm."""
        self.cancel(agent.key)
        seconds = restarts.remaining(lifecycle.restart_pause(agent), agent.since, self._now())
        self._timers[agent.key] = asyncio.get_running_loop().call_later(seconds, self._begin, agent)

    def cancel(self, key: tuple[str, str]) -> None:
        """Start it no more; again is no harm."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def end(self) -> None:
        """Start nothing any more. What has been begun is given up, and found again by whoever comes next."""
        for key in list(self._timers):
            self.cancel(key)
        self._background.cancel()

    def _begin(self, agent: Agent) -> None:
        del self._timers[agent.key]
        self._background.spawn(self._restart(agent), name=f"restart {agent.name}")
