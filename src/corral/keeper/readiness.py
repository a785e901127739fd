"""When can an agent take its first message?

Where its profile knows the screen that says so, that screen decides. For any other program: once it has written
something and then fallen quiet, or if it never writes anything. Checked only after output, never by polling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from corral.domain.screen_patterns import Shown

#: A screen is looked at once output has paused this long.
_SETTLED_SECONDS = 0.1
#: A program without a profile is taken to be ready after this much silence.
_QUIET_SECONDS = 0.6
#: … or after this long without a single byte: many programs say nothing until they are spoken to.
_SILENT_SECONDS = 2.0


class ReadinessWatch:
    """Watches one run until it is ready, then calls `on_ready(evidence)` once."""

    def __init__(
        self,
        patterns: Sequence[str],
        screen: Callable[[], Awaitable[list[str]]],
        on_ready: Callable[[str], None],
    ) -> None:
        self._patterns = patterns
        self._screen = screen
        self._on_ready = on_ready
        self._timer: asyncio.TimerHandle | None = None
        self._look: asyncio.Task[None] | None = None
        self._arm(_SETTLED_SECONDS if self._patterns else _SILENT_SECONDS, "it waits without a word")

    def output(self) -> None:
        """The run wrote something: look again when it pauses."""
        self._arm(_SETTLED_SECONDS if self._patterns else _QUIET_SECONDS, "its output has paused")

    def cancel(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._timer.cancel()
        if self._look is not None:
            self._look.cancel()

    def _arm(self, seconds: float, evidence: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._paused, evidence)

    def _paused(self, evidence: str) -> None:
        if not self._patterns:
            self._on_ready(evidence)
        elif self._look is None or self._look.done():
            self._look = asyncio.get_running_loop().create_task(self._look_at_screen())

    async def _look_at_screen(self) -> None:
        shown = Shown(await self._screen())
        for found in map(shown.lowest, self._patterns):
            if found is not None:
                self._on_ready(f"its screen shows {shown.lines[found].strip()[:40]!r}")
                return


class Readiness:
    """The watches of one team, one for a run at most. `on_ready(run, evidence)` is called once for each."""

    def __init__(self, on_ready: Callable[[str, str], None]) -> None:
        self._on_ready = on_ready
        self._watches: dict[str, ReadinessWatch] = {}

    def watch(self, run: str, patterns: Sequence[str], screen: Callable[[], Awaitable[list[str]]]) -> None:
        """Watch a run in a terminal, anew if it is watched already."""
        self.cancel(run)
        self._watches[run] = ReadinessWatch(patterns, screen, lambda evidence: self.found(run, evidence))

    def found(self, run: str, evidence: str) -> None:
        """The run is ready."""
        self.cancel(run)
        self._on_ready(run, evidence)

    def output(self, run: str) -> None:
        """The run wrote something."""
        watch = self._watches.get(run)
        if watch is not None:
            watch.output()

    def cancel(self, run: str) -> None:
        """Stop watching this run."""
        watch = self._watches.pop(run, None)
        if watch is not None:
            watch.cancel()

    def cancel_all(self) -> None:
        """Stop watching."""
        for run in list(self._watches):
            self.cancel(run)
