"""What a run had to say before it ended, as its screen shows it; without a terminal, as its output does."""

from __future__ import annotations

from corral.domain import last_output
from corral.domain.errors import CorralError
from corral.keeper.runtimes import Runtimes

#: Lines above the screen in which the end of the record is looked for.
_SCREEN_LINES = 2000


async def last_screen(runtime: Runtimes, run: str) -> list[str]:
    """The screen of a run with what is above it; nothing if it went with its server."""
    try:
        return await runtime.screen(run, history=_SCREEN_LINES)
    except CorralError:
        return []  # what was recorded is all there is


async def last_words(runtime: Runtimes, run: str) -> str:
    """The end of it, short enough for a person to read in passing."""
    return last_output.last_words(await last_screen(runtime, run))
