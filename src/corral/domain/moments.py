"""Points in time that can be compared whatever somebody does to the clock, also by another process. Pure.

The wall clock is what people are told, and it can be set. The monotonic clock goes on at its pace while the host is
awake, and begins anew with every boot. A moment has both, and the boot that the second one is of.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point in time on one host."""

    #: Unix time, for people.
    wall: float = 0.0
    #: Seconds that the host has been awake since it booted.
    monotonic: float = 0.0
    #: Which boot.
    boot: str = ""


def elapsed(since: Moment, now: Moment) -> float:
    """Seconds in which something could have run since then: neither setting a clock nor suspending the host adds any.

    After a reboot it is the time since that: what was up before has ended, and nothing is known to have been missed.
    """
    passed = now.monotonic - since.monotonic if since.boot == now.boot else now.monotonic
    return max(0.0, passed)


def earlier(now: Moment, seconds: float) -> Moment:
    """The moment so many seconds before, in the same boot."""
    return Moment(wall=now.wall - seconds, monotonic=now.monotonic - seconds, boot=now.boot)
