"""When the screens of a team are looked at: after output has paused, all that changed in one question.

Never by polling: an agent that writes nothing costs nothing. One that writes all the time, because something turns on
its screen while it works, is looked at once in a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.background import Background
from corral.domain.errors import CorralError
from corral.ports.runtime import Screen

log = logging.getLogger("corral.keeper")

#: A screen is looked at once output has paused this long …
PAUSED_SECONDS = 0.12
#: … and at least so often while it does not pause.
LONGEST_SECONDS = 1.0
#: Whoever is due so soon after another is looked at with it.
_TOGETHER_SECONDS = 0.05


@dataclass(slots=True)
class _Watch:
    #: When it wrote first since the last look, and last; None if it wrote nothing.
    first: float | None = None
    last: float = 0.0
    #: It is to be looked at then, whatever it writes.
    again: float | None = None

    @property
    def due(self) -> float | None:
        times = [self.again] if self.again is not None else []
        if self.first is not None:
            times.append(min(self.last + PAUSED_SECONDS, self.first + LONGEST_SECONDS))
        return min(times, default=None)


class Watching:
    """Watches runs. `read` looks at many screens; `on_screen(run, screen)` is told of each that was looked at."""

    def __init__(
        self,
        read: Callable[[Sequence[str]], Awaitable[Mapping[str, Screen]]],
        on_screen: Callable[[str, Screen], None],
    ) -> None:
        self._read = read
        self._on_screen = on_screen
        self._runs: dict[str, _Watch] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        self._background = Background()

    def follow(self, run: str) -> None:
        """Watch a run, and look at it soon."""
        self._runs.setdefault(run, _Watch())
        self.output(run)

    def output(self, run: str) -> None:
        """The run wrote something. Nothing happens if it is not watched."""
        watch = self._runs.get(run)
        if watch is not None:
            watch.last = asyncio.get_running_loop().time()
            if watch.first is None:
                watch.first = watch.last
                self._arm()

    def look_again(self, run: str, seconds: float) -> None:
        """Look at it once more, after so long."""
        watch = self._runs.get(run)
        if watch is not None:
            watch.again = asyncio.get_running_loop().time() + seconds
            self._arm()

    def forget(self, run: str) -> None:
        """Watch it no more."""
        self._runs.pop(run, None)

    def close(self) -> None:
        """Watch nothing any more."""
        self._runs.clear()
        self._background.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        """Have the timer run out when the next is due. It may be early: output moves that on."""
        due = min((watch.due for watch in self._runs.values() if watch.due is not None), default=None)
        if due is None or (self._timer is not None and self._timer.when() <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._looking is not None and not self._looking.done():
            return  # it arms the timer when it is done
        until = asyncio.get_running_loop().time() + _TOGETHER_SECONDS
        due = {run: watch for run, watch in self._runs.items() if watch.due is not None}
        if any(watch.due <= until - _TOGETHER_SECONDS for watch in due.values() if watch.due is not None):
            runs = [run for run, watch in due.items() if watch.due is not None and watch.due <= until]
            self._looking = self._background.spawn(self._look(runs), name="look at screens")
        else:
            self._arm()

    async def _look(self, runs: Sequence[str]) -> None:
        for run in runs:
            watch = self._runs[run]
            # What is written from now on may not be on what is read.
            watch.first = watch.again = None
        try:
            screens = await self._read(runs)
        except CorralError as error:
            # What was known stays. If tmux is silent, that is found out and told by those who look after it.
            log.info("%d screens could not be read: %s", len(runs), error.message)
            screens = {}
        for run, screen in screens.items():
            if run in self._runs:
                self._on_screen(run, screen)
        self._looking = None
        self._arm()
