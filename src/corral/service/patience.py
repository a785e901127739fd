"""How long somebody waits, in portions."""

from __future__ import annotations

import asyncio

#: The longest that a keeper is asked to wait in one go. Whoever waits may go away, and the keeper is not told: so long
#: at most it waits for nobody.
PORTION_SECONDS = 25.0


class Patience:
    """Runs out after so many seconds; None is for ever."""

    def __init__(self, seconds: float | None) -> None:
        self._clock = asyncio.get_running_loop().time
        self._end = None if seconds is None else self._clock() + seconds

    @property
    def portion(self) -> float:
        """How long to wait now."""
        return PORTION_SECONDS if self._end is None else min(PORTION_SECONDS, max(0.0, self._end - self._clock()))

    @property
    def over(self) -> bool:
        """True if there is none left."""
        return self._end is not None and self._clock() >= self._end
