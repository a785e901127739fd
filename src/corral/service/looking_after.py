"""All that looks after agents by itself, besides the supervisor: checks, late starts, stuck ones, lifetimes, people."""

from __future__ import annotations

from collections.abc import Callable

from corral.domain.moments import Moment
from corral.domain.notices import Notice
from corral.domain.records import SUPERVISOR
from corral.service.attendance import AttendanceWatch
from corral.service.context import Context
from corral.service.health import HealthChecks
from corral.service.holding import Holding
from corral.service.ledger import Ledger
from corral.service.lifetimes import Lifetimes
from corral.service.reactions import Reactions
from corral.service.sends import Sends
from corral.service.starting import StartWatch
from corral.service.stuck import StuckWatch


class LookingAfter:
    """Begun once the supervisor has seen the teams, and ended before it. All that is typed goes through `sends`.

    What people should hear of is handed to `tell`, which returns at once.
    """

    def __init__(
        self,
        context: Context,
        ledger: Ledger,
        clock: Callable[[], Moment],
        holding: Holding,
        sends: Sends,
        tell: Callable[[Notice], None],
    ) -> None:
        self.attendance = AttendanceWatch(context, ledger, clock, Reactions(context, holding), tell)
        self._watches = (
            self.attendance,
            HealthChecks(context),
            StartWatch(context, lambda agent: sends.prompt_waits_for(agent.run)),
            StuckWatch(context, lambda agent, text: sends.send_at_once(SUPERVISOR, agent, text.encode())),
            Lifetimes(context, clock, tell),
        )

    def begin(self) -> None:
        """Look after all agents from now on."""
        for watch in self._watches:
            watch.begin()

    async def end(self) -> None:
        """The daemon goes; the next one goes on."""
        await self.attendance.save()
        for watch in self._watches:
            watch.end()
