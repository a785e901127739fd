"""How much memory teams have left for one more agent."""

from __future__ import annotations

import msgspec

from corral.ports.record import Record


class HostMemory(Record, frozen=True):
    """What can be told now. Nobody who reads this takes what is not known for a want of memory."""

    #: By team, percent of its own limit that is free or could be: only of teams that have a limit.
    free: dict[str, float] = msgspec.field(default_factory=dict)
