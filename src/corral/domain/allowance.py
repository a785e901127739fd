"""How much of something somebody may do: so much at once, and so much a second from then on. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Allowance:
    """Is used up by what is done, and comes back with time."""

    at_once: float
    per_second: float
    #: What is used up of it, and when that was, by a clock that only goes on.
    used: float = 0.0
    at: float = 0.0

    def take(self, now: float, cost: float = 1.0) -> bool:
        """Use it for something. False if that is more than there is."""
        self.used = max(0.0, self.used - max(0.0, now - self.at) * self.per_second) + cost
        self.at = now
        return self.used <= self.at_once

    def renew(self) -> None:
        """Have all of it again."""
        self.used = 0.0
