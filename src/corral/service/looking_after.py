"""Everything that looks after agents by itself, besides the supervisor: checks, stuck agents, lifetimes, attendance."""

from __future__ import annotations

from collections.abc import Callable

from corral.domain.moments import Moment
from corral.service.attendance import AttendanceWatch
from corral.service.context import Context
from corral.service.health import HealthChecks
from corral.service.holding import Holding
from corral.service.ledger import Ledger
from corral.service.lifetimes import Lifetimes
from corral.service.reactions import Reactions
from corral.service.stuck import Say, StuckWatch


class LookingAfter:
    """Begun once the supervisor has seen the teams, and ended before it. `say` types something into an agent."""

    def __init__(
        self, context: Context, ledger: Ledger, clock: Callable[[], Moment], holding: Holding, say: Say
    ) -> None:
        self.attendance = AttendanceWatch(context, ledger, clock, Reactions(context, holding))
        self._watches = (self.attendance, HealthChecks(context), StuckWatch(context, say), Lifetimes(context, clock))

    def begin(self) -> None:
        """Look after all agents from now on."""
        for watch in self._watches:
            watch.begin()

    def end(self) -> None:
        """The daemon goes; the next one goes on."""
        for watch in self._watches:
            watch.end()
