"""How an agent is kept alive, as its team declares it. Pure.

What is declared here changes nothing about a program that runs, so it can be changed on one that does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from corral.domain.restarts import DEFAULT_RESTART_LIMITS, RestartLimits

#: What is said to an agent that seems to be stuck, unless its team says something else.
DEFAULT_NUDGE = (
    "You have been at this for a while without anything new to see. If you are waiting for something, say what for; "
    "if a command hangs, end it; otherwise go on."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A command that tells whether an agent is well; times are in seconds."""

    #: For a shell, in the agent's workspace and with its environment. Exit code 0 is well.
    command: str
    #: Between the end of one and the begin of the next.
    every: float = 30.0
    #: One that has not ended after so long is ended, and has failed.
    timeout: float = 10.0
    #: So many in a row, and the agent is unhealthy.
    failures: int = 3
    #: What fails in so long a time after the start of a run does not count, as long as none has succeeded.
    start_timeout: float = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Upkeep:
    """What is done to keep one agent alive and well, besides its restart policy."""

    restarts: RestartLimits = field(default_factory=lambda: DEFAULT_RESTART_LIMITS)
    check: Check | None = None
    #: It is to be ready so long after its start; None: its table does not say (`starting`).
    start_timeout: float | None = None
    #: It is stuck if it works and its screen has not changed for so long; None: nobody looks.
    stuck_after: float | None = None
    #: What is said to it first; empty: nothing, and a person is told at once.
    nudge: str = DEFAULT_NUDGE
    #: Seconds from its start by a person until it is stopped; None: it may run for ever.
    lifetime: float | None = None


DEFAULT_UPKEEP = Upkeep()


def upkeep_as_values(upkeep: Upkeep) -> dict[str, object]:
    """What differs from the defaults, by the key of the file that says it. `restart` is not among them."""
    values: dict[str, object] = {}
    if upkeep.check is not None:
        check = upkeep.check
        values["check"] = [check.command, check.every, check.timeout, check.failures, check.start_timeout]
    if upkeep.start_timeout is not None:
        values["start_timeout"] = upkeep.start_timeout
    if upkeep.stuck_after is not None:
        values["stuck_after"] = upkeep.stuck_after
    if upkeep.nudge != DEFAULT_NUDGE:
        values["nudge"] = upkeep.nudge
    if upkeep.lifetime is not None:
        values["lifetime"] = upkeep.lifetime
    return values


#: The keys of `upkeep_as_values`, in the order in which differences are named.
UPKEEP_NAMES = ("check", "start_timeout", "stuck_after", "nudge", "lifetime")
