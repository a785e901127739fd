"""The use case `stats`: what agents use of their host, and their team as a whole. Reads, and starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.domain.records import Agent
from corral.ports.usage import Usage
from corral.service.context import Context
from corral.service.lists import ask_each
from corral.service.reaching import keeper_soon
from corral.service.resolve import find_team

#: Processor time is a count: a percentage needs two looks. The first two are so far apart.
FIRST_SECONDS = 0.25
#: The name of the team as a whole, where otherwise an agent stands.
WHOLE_TEAM = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """One line: an agent, or a team as a whole."""

    team: str
    #: None for the team as a whole.
    agent: Agent | None
    #: Unix time of the look.
    time: float
    #: None: nothing of it runs, or its level cannot tell.
    usage: Usage | None
    #: Of one processor, since the look before; None without one.
    cpu_percent: float | None
    #: Why nothing is known of it; empty if something is.
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class _Look:
    """What one team used, and when that was, by a clock that only goes forward."""

    clock: float
    time: float
    usage: Mapping[str, Usage]
    #: Why nothing is known of it; empty if something is.
    unknown: str = ""


class Stats:
    """The use case."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now

    async def read(
        self,
        *,
        team: str,
        names: Sequence[str],
        every: float | None,
        teams: Callable[[], Awaitable[Sequence[str]]] | None = None,
    ) -> AsyncIterator[list[Stat]]:
        """What is used now, then again every so many seconds if `every` says so.

        Without a team: of those that `teams` names at the time of each look; without that, of all that are up. Without
        names: all agents of each team, then the team as a whole.
        """
        before = await self._look(team, teams)
        await asyncio.sleep(FIRST_SECONDS if before else 0)
        while True:
            looks = await self._look(team, teams)
            yield [stat for name, look in looks.items() for stat in self._stats(name, names, look, before.get(name))]
            if every is None:
                return
            before = looks
            await asyncio.sleep(every)

    async def _look(self, team: str, among: Callable[[], Awaitable[Sequence[str]]] | None) -> dict[str, _Look]:
        if team:
            teams: Sequence[str] = [find_team(self._registry, name=team).name]
        else:
            teams = sorted(self._registry.teams) if among is None else await among()
        asked = await ask_each(self._supervisor.keepers, teams, self._look_at, named=bool(team))
        clock, now = asyncio.get_running_loop().time(), self._now()
        nothing = {name: _Look(clock, now, {}, why) for name, why in asked.unknown.items()}
        return {name: asked.answers.get(name) or nothing[name] for name in teams}

    async def _look_at(self, team: str) -> _Look:
        keeper = await keeper_soon(self._supervisor, team)
        clock = asyncio.get_running_loop().time
        asked = clock()
        found = await keeper.usage(team)
        # When the keeper looked nobody said: half-way is the best guess.
        return _Look((asked + clock()) / 2, self._now(), {one.agent: one for one in found})

    def _stats(self, team: str, names: Sequence[str], look: _Look, before: _Look | None) -> list[Stat]:
        agents = self._registry.of_team(team)
        if names:
            rows: list[Agent | None] = [self._registry.agent(team, name) for name in names]
        else:
            rows = [*agents.values(), None]
        return [_stat(team, agent, look, before) for agent in rows]


def _stat(team: str, agent: Agent | None, look: _Look, before: _Look | None) -> Stat:
    name = WHOLE_TEAM if agent is None else agent.name
    usage = look.usage.get(name)
    earlier = before.usage.get(name) if before is not None else None
    percent = None
    if usage is not None and earlier is not None and before is not None and look.clock > before.clock:
        percent = busy(usage.cpu_seconds - earlier.cpu_seconds, look.clock - before.clock)
    return Stat(team=team, agent=agent, time=look.time, usage=usage, cpu_percent=percent, unknown=look.unknown)


def busy(cpu_seconds: float, seconds: float) -> float | None:
    """Processor time as a part of one processor, in percent. None if it went backwards: then it was another run."""
    return round(100 * cpu_seconds / seconds, 1) if cpu_seconds >= 0 else None
