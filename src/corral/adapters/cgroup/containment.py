"""Containment by cgroups that we make ourselves: the second level, for hosts without a systemd of the user's.

Everything an agent starts is born in the agent's cgroup and stays there, whatever it does to its session, its parents
or its environment. Only by moving itself to another cgroup can it leave, and only one that it may write. What does is
still known by the marker in its environment: the level below sweeps after this one.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence

from corral.adapters.cgroup import delegation, ending
from corral.adapters.cgroup import limits as limit_files
from corral.adapters.cgroup import usage as usage_files
from corral.adapters.cgroup.contained import Contained
from corral.adapters.cgroup.home import Home
from corral.adapters.cgroup.tree import Cgroup, unified_name_of
from corral.adapters.procfs.containment import ProcessContainment
from corral.domain.errors import CorralError
from corral.domain.limits import NO_LIMITS, Limits
from corral.ports.census import Check
from corral.ports.containment import CGROUP, Admission, Placement
from corral.ports.runs import Ended
from corral.ports.usage import Usage

log = logging.getLogger("corral")

#: What is left in the cgroup of a tmux server that has ended gets this long to follow it.
_LEFT_IN_SERVER_SECONDS = 1.0


class CgroupContainment:
    """See `ports.containment.Containment`. An agent has one run at a time: its cgroup is that run's."""

    level = CGROUP

    def __init__(self, home: Home, sweep: ProcessContainment, why: str) -> None:
        self._home = home
        self._sweep = sweep
        self._contained = Contained(sweep)
        self.why = why
        #: Teams of which some run could not be admitted, and is at the level below.
        self._mixed: set[str] = set()

    @classmethod
    def open(cls, instance: str, sweep: ProcessContainment, why: str) -> CgroupContainment | str:
        """Find and prove a subtree, and step out of its way; or why there is none. Blocks for some milliseconds.

        `why` is the reason for not being at the level above. To be called before this process starts others: they are
        born where it is.
        """
        given = delegation.find(instance)
        if isinstance(given, str):
            return given
        home = Home(given, instance)
        try:
            home.settle()
        except OSError as error:
            return f"this process cannot leave the cgroup of an agent: {error.strerror}"
        return cls(home, sweep, why)

    async def shelter(self, team: str, server_pid: int, what: str) -> None:
        """See `Containment.shelter`. If it cannot be done, the log tells, and the server stays where the keeper is."""
        try:
            self._home.shelter(team, server_pid, what)
        except OSError as error:
            log.warning("the %s of %s has no cgroup of its own: %s", what, team, error)

    async def place_of(self, team: str, agent: str) -> str:
        """See `Containment.place_of`."""
        return next((group.path for group in self._home.agents(team, [agent]).get(agent, ())), "")

    async def shelter_daemon(self, pid: int) -> None:
        """See `Containment.shelter_daemon`."""
        try:
            self._home.shelter_daemon(pid)
        except OSError as error:
            raise CorralError(f"the daemon has no cgroup of its own: {error.strerror}") from error

    async def admit(self, team: str, placements: Sequence[Placement], team_limits: Limits) -> Admission:
        """See `Containment.admit`. A run that could not be moved stays at the level below, with a problem."""
        admission = await asyncio.to_thread(self._admit, team, placements, team_limits)
        if admission.problems:
            self._mixed.add(team)
        return admission

    async def limit(self, team: str, limits: Mapping[str, Limits], team_limits: Limits) -> list[str]:
        """See `Containment.limit`."""
        notes: list[str] = []
        for place in self._home.teams(team):
            notes += _notes("", limit_files.write(place, team_limits))
        found = self._home.agents(team, limits)
        for agent, groups in found.items():
            for group in groups:
                notes += _notes(agent, limit_files.write(group, limits[agent]))
        outside = {agent: wanted for agent, wanted in limits.items() if agent not in found}
        notes += await self._sweep.limit(team, outside, NO_LIMITS)
        return list(dict.fromkeys(notes))

    async def freeze(self, team: str, runs: Mapping[str, str], *, frozen: bool) -> None:
        """See `Containment.freeze`. Raises if one does not stand still; it is asked to, all the same."""
        found = self._home.agents(team, runs.values())
        inside = {agent: [group for group in groups if group.populated()] for agent, groups in found.items()}
        await self._contained.freeze(team, runs, inside, frozen=frozen)

    async def usage(self, team: str) -> list[Usage]:
        """See `Containment.usage`. The team is the last one; none at all if nothing of it runs."""
        found = await asyncio.to_thread(self._usage, team)
        if not found or team in self._mixed:
            named = {use.agent for use in found}
            found = [*(use for use in await self._sweep.usage(team) if use.agent not in named), *found]
        return found

    async def members(self, team: str) -> dict[str, list[int]]:
        """See `Containment.members`."""
        agents: dict[str, list[Cgroup]] = {}
        for place in self._home.teams(team):
            for group in place.children():
                agents.setdefault(os.path.basename(group.path), []).append(group)
        return await self._contained.members(team, agents)

    async def forget_team(self, team: str) -> None:
        """See `Containment.forget_team`."""
        self._mixed.discard(team)
        # The server is gone; whatever is still where it was came from one of its panes.
        await ending.end(self._home.shelters(team), _LEFT_IN_SERVER_SECONDS)
        self._home.remove_team(team)

    async def end_runs(
        self, team: str, runs: Mapping[str, str], roots: Sequence[int], grace: float, *, spare: bool
    ) -> Ended:
        """See `Containment.end_runs`."""
        agents = self._home.agents(team, set(runs.values()))
        ended = await self._contained.end_runs(team, runs, roots, grace, agents, spare=spare)
        for groups in agents.values():
            for group in groups:
                group.remove()
        return ended

    async def end_team(self, team: str, grace: float) -> Ended:
        """See `Containment.end_team`."""
        ended = await self._contained.end_team(team, grace, self._home.teams(team))
        self._home.remove_team(team)
        return ended

    async def census(self, team: str) -> list[Check]:
        """See `Containment.census`. Looks for cgroups of the team wherever they are, with or without processes."""
        await asyncio.to_thread(self._home.look)
        return await self._contained.census(team, [*self._home.teams(team), *self._home.shelters(team)])

    def _admit(self, team: str, placements: Sequence[Placement], team_limits: Limits) -> Admission:
        admission = Admission(levels={one.run: self._sweep.level for one in placements})
        try:
            admission.notes += _notes("", limit_files.write(self._home.place(team), team_limits))
        except OSError as error:
            admission.problems = {one.run: f"the team has no cgroup: {error}" for one in placements}
            return admission
        for one in placements:
            try:
                lines = self._home.admit(team, one.agent, one.pid, one.limits)
            except OSError as error:
                admission.problems[one.run] = f"it could not be put into its cgroup: {error}"
            else:
                admission.levels[one.run] = self.level
                if name := unified_name_of(one.pid):  # else it ended already
                    admission.cgroups[one.run] = name
                admission.notes += _notes(one.agent, lines)
        return admission

    def _usage(self, team: str) -> list[Usage]:
        found: list[Usage] = []
        for place in self._home.teams(team):
            uses = (
                usage_files.of_cgroup(group, agent=os.path.basename(group.path), level=self.level)
                for group in place.children()
            )
            agents = [use for use in uses if use is not None]
            whole = usage_files.of_team(agents, place, level=self.level)
            found += [*agents, whole] if whole is not None else agents
        return found


def _notes(agent: str, lines: Sequence[str]) -> list[str]:
    return [f"{agent or 'the team'}: {line}" for line in lines]
