"""When the lifetime of an agent is over, and when that is announced. Pure."""

from __future__ import annotations

from corral.domain.moments import Moment, elapsed

ANNOUNCE, END = "announce", "end"
#: The end is announced so long before it comes, or a tenth of the lifetime if that is less.
_LONGEST_NOTICE = 600.0
_NOTICE_PART = 0.1


def notice(lifetime: float) -> float:
    """How long before it comes the end is announced."""
    return min(_LONGEST_NOTICE, lifetime * _NOTICE_PART)


def due(lifetime: float, begun: Moment, announced: Moment | None, now: Moment) -> tuple[str, float]:
    """What comes next for an agent that a person started then, and in how many seconds.

    It never ends without the whole notice: also if nobody was there to announce it in time.
    """
    left = lifetime - elapsed(begun, now)
    if announced is None:
        return ANNOUNCE, max(0.0, left - notice(lifetime))
    return END, max(0.0, left, notice(lifetime) - elapsed(announced, now))
