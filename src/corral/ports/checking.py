"""What a keeper does for whoever looks after agents: it runs their checks, and says when somebody last typed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from corral.ports.record import Record

if TYPE_CHECKING:
    from corral.ports.processes import ProcessOrder

#: The names of checks begin so: they are no commands of the agent, and nobody is shown them in a list.
CHECK_PREFIX = "check-"


class Checked(Record, frozen=True):
    """How a check ended."""

    #: None if nobody saw how, or if it was ended because its time was up.
    code: int | None = None
    timed_out: bool = False
    #: The end of what it wrote.
    output: str = ""


class LastKey(Record, frozen=True):
    """When somebody who is attached to a team last typed."""

    #: Seconds since then; None if nobody is attached, or if that cannot be seen.
    seconds: float | None = None


class Checking(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def check(self, team: str, order: ProcessOrder, within: float) -> Checked:
        """Run a check of an agent to its end, in the agent's place and environment; `within` seconds, or it is ended.

        Nothing of it is left when this returns, neither a process nor a record.
        """

    async def last_key(self, team: str) -> LastKey:
        """When somebody who is attached to the team last typed."""
