"""When an agent that ended is started again, and when that is given up. Pure.

Each end in a row makes the next pause twice as long, up to a limit. A run that lasted long enough was a good one: the
next end counts as the first again. Ends that come one after the other without a good run between them are a crash loop,
and after so many attempts a person is needed.

All of it follows from the record of the agent, so a daemon that comes after a crash goes on counting, and waits for the
rest of a pause and not for the whole of it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields

#: The part of a pause that chance may take away, so that agents that ended together are not started together.
_SPREAD = 0.5
#: More doublings than this make a pause longer than anybody's limit.
_MOST_DOUBLINGS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class RestartLimits:
    """How patiently an agent is started again; times are in seconds."""

    #: So many restarts in a row without a good run between them, then it is `failed`.
    attempts: int = 5
    #: A run that lasted this long was a good one.
    steady: float = 600.0
    #: The pause after the first end in a row.
    delay: float = 1.0
    #: No pause is longer.
    longest: float = 60.0


DEFAULT_RESTART_LIMITS = RestartLimits()
#: The keys besides `policy` of a `restart` that is a table, in the order in which they are shown.
RESTART_LIMIT_NAMES = tuple(field.name for field in fields(RestartLimits))


def counted(before: int, lasted: float, limits: RestartLimits) -> int:
    """How many ends in a row there are with this one, of a run that lasted so many seconds.

    A clock that was set back makes a run look short: that is one end too many at worst.
    """
    return 1 if lasted >= limits.steady else before + 1


def is_crash_loop(crashes: int, limits: RestartLimits) -> bool:
    """True if this end is not to be followed by another start."""
    return crashes > limits.attempts


def pause(crashes: int, limits: RestartLimits, run: str) -> float:
    """Seconds between the end of a run and the start that follows it; `crashes` are the ends in a row, this included.

    At least half of what the doubling says, and never more. Where in between is chance: that of `run`, whose name was
    drawn when it began. So it is the same whoever asks, also for the next daemon.
    """
    doubled = limits.delay * 2.0 ** min(max(crashes, 1) - 1, _MOST_DOUBLINGS)
    chance = zlib.crc32(run.encode()) / 2**32
    return min(limits.longest, doubled) * (1.0 - _SPREAD * chance)


def remaining(whole: float, began: float, now: float) -> float:
    """What is left of a pause. A clock that was set meanwhile makes it neither longer than whole nor less than over."""
    return min(whole, max(0.0, whole - (now - began)))
