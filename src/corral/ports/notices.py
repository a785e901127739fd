"""What a keeper does to have people told: a command of theirs, contained as a gate of the merge queue is."""

from __future__ import annotations

from typing import Protocol

from corral.ports.merging import GateOrder, GateSeen

#: In the place of an agent's name, for commands that tell people. No agent can be called so.
NOTICES = "_notify"
#: How processes that are such commands are called. They are no commands of an agent.
NOTICE_PREFIX = "notice-"


class Notices(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def run_notice(self, team: str, order: GateOrder, within: float) -> GateSeen:
        """Run a command that tells people, for so many seconds at most; then all that it started is ended.

        One at a time for a team. `running` says that its time was up.
        """
