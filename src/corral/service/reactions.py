"""What is done to a team that nobody looks after, and how it is undone."""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain import attendance, lifecycle, states
from corral.domain.records import SUPERVISOR
from corral.service.context import Context
from corral.service.holding import Holding
from corral.service.outfit import fit_out
from corral.service.progress import Progress
from corral.supervise.supervisor import DEFAULT_GRACE

#: Why an agent was stopped.
_ALONE = "nobody looked after its team; it is started again when somebody shows up"


class Reactions:
    """Each can be done twice: whoever comes after a crash does it again."""

    def __init__(self, context: Context, holding: Holding) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._holding = holding

    def meant(self, team: str, reaction: str) -> list[str]:
        """The agents that it would be done to: not those that a person had paused or stopped before."""
        agents = self._registry.of_team(team).values()
        if reaction == attendance.PAUSE:
            return [agent.name for agent in agents if agent.state == states.RUNNING and not agent.paused]
        if reaction == attendance.STOP:
            return [agent.name for agent in agents if agent.state not in states.AT_REST]
        return []

    async def do(self, team: str, reaction: str, names: Sequence[str]) -> None:
        """Pause or stop those of the agents that are not so already."""
        agents = self._registry.of_team(team)
        if reaction == attendance.PAUSE:
            # Also those whose records say so: a crash may have come between the record and the deed.
            running = [name for name in names if name in agents and agents[name].state == states.RUNNING]
            if running:
                await self._holding.pause(SUPERVISOR, team, running, everyone=True, tell=_nobody)
        elif reaction == attendance.STOP:
            if not self._left(team, names):
                return
            async with self._supervisor.lock(team):
                await self._supervisor.be_certain(team)
                # With the lock held: one of them may have been stopped, or removed, by whoever had it before.
                if left := self._left(team, names):
                    await self._supervisor.stop(
                        team,
                        left,
                        DEFAULT_GRACE,
                        SUPERVISOR,
                        lambda live, now: lifecycle.ending(live, _ALONE, lifecycle.AND_STAY, now),
                    )

    def _left(self, team: str, names: Sequence[str]) -> list[str]:
        """Those that are there and not at rest."""
        agents = self._registry.of_team(team)
        return [name for name in names if name in agents and agents[name].state not in states.AT_REST]

    async def undo(self, team: str, reaction: str, names: Sequence[str]) -> None:
        """Have those of the agents go on that are still as they were left."""
        agents = self._registry.of_team(team)
        if reaction == attendance.PAUSE:
            paused = [name for name in names if name in agents and agents[name].paused]
            running = [name for name in paused if agents[name].state == states.RUNNING]
            if running:
                await self._holding.resume(SUPERVISOR, team, running, everyone=True, tell=_nobody)
        elif reaction == attendance.STOP:
            await self._start_again(team, names)

    async def _start_again(self, team: str, names: Sequence[str]) -> None:
        async with self._supervisor.lock(team):
            await self._supervisor.be_certain(team)
            agents = self._registry.of_team(team)
            # With the lock held: whoever has just started one of them has it as they want it.
            stopped = [name for name in names if name in agents and agents[name].state == states.STOPPED]
            if stopped:
                keeper = await self._supervisor.keepers.of(team).open()
                for name in stopped:
                    await fit_out(keeper, self._registry.teams[team], agents[name])
                await self._supervisor.line.request(team, stopped, SUPERVISOR)


def _nobody(_: Progress) -> None:
    """Nobody waits to be told how far it is."""
