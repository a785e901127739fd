"""Containment by the systemd of the user: the best level. Every agent is in a scope with its name on it.

systemd makes the scopes and sets the limits; ending, counting and measuring is done on the cgroups themselves, so it
works when the bus does not answer any more. What left its scope is known by the marker in its environment: the level
below sweeps after this one.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from corral.adapters.cgroup import ending, killing, sparing
from corral.adapters.cgroup import usage as usage_files
from corral.adapters.cgroup.contained import Contained, Sweep
from corral.adapters.cgroup.hierarchy import Hierarchy
from corral.adapters.cgroup.limits import settings
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs.processes import Process
from corral.adapters.systemd import marks
from corral.adapters.systemd.groups import ScopeGroups
from corral.adapters.systemd.manager import UserManager
from corral.adapters.systemd.own import OwnScopes
from corral.adapters.systemd.properties import all_limits, set_limits
from corral.adapters.systemd.scopes import Scope, Scopes
from corral.adapters.systemd.slices import Place, Slices
from corral.adapters.systemd.spawned import SpawnedScopes
from corral.domain import units
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.limits import NO_LIMITS, Limits
from corral.ports.census import Check, Residue
from corral.ports.containment import SYSTEMD, TMUX, Admission, Placement
from corral.ports.runs import Ended
from corral.ports.usage import Usage

log = logging.getLogger("corral.keeper")

#: What is left in the scope of a tmux server that has ended gets this long to follow it.
_LEFT_IN_SERVER_SECONDS = 1.0


class Below(Sweep, Protocol):
    """The level below, for agents that have no scope."""

    async def limit(self, team: str, limits: Mapping[str, Limits], team_limits: Limits) -> list[str]: ...
    async def usage(self, team: str) -> list[Usage]: ...
    def servers(self, team: str) -> list[Process]: ...


class SystemdContainment:
    """See `ports.containment.Containment`."""

    level = SYSTEMD
    why = ""

    def __init__(
        self,
        manager: UserManager,
        hierarchy: Hierarchy,
        sweep: Below,
        *,
        instance: str,
        agent_slice: str,
        version: int,
        top: Cgroup,
    ) -> None:
        self._manager = manager
        self._hierarchy = hierarchy
        self._sweep = sweep
        self._contained = Contained(sweep)
        self._instance = instance
        self._slices = Slices(manager, instance, agent_slice)
        self._own = OwnScopes(manager, hierarchy, self._slices)
        self._scopes = Scopes(manager, self._slices, instance, version)
        self._spawned = SpawnedScopes(manager, hierarchy, sweep.servers)
        self._groups = ScopeGroups(
            manager, hierarchy, self._scopes, self._own, self._spawned, instance=instance, top=top
        )

    @classmethod
    async def open(
        cls, manager: UserManager, hierarchy: Hierarchy, sweep: Below, *, instance: str, agent_slice: str
    ) -> SystemdContainment:
        """Prove that scopes can be made where they are wanted, and move this process into its own. Raises if not."""
        top = hierarchy.cgroup(await manager.own_control_group())
        if top is None:
            raise UnavailableError(f"the cgroups of the user's systemd cannot be seen at {hierarchy.mount}", "")
        containment = cls(
            manager, hierarchy, sweep,
            instance=instance, agent_slice=agent_slice, version=await manager.version(), top=top,
        )  # fmt: skip
        await containment._own.move(os.getpid(), units.process_scope("keeper", instance), "Corral's keeper")
        if agent_slice:
            await containment.try_slice()
        return containment

    async def try_slice(self) -> None:
        """Make a scope in the slice that the host named for agents, with something in it that ends at once."""
        guest = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, cwd="/")
        try:
            name = units.process_scope("probe", self._instance)
            await self._own.move(guest.pid, name, "Corral tries the slice for agents", self._slices.of_host)
        finally:
            assert guest.stdin is not None
            guest.stdin.close()
            await guest.wait()

    # A place for each

    async def shelter(self, team: str, server_pid: int, what: str) -> None:
        """See `Containment.shelter`."""
        if what == TMUX:
            self._spawned.made_by(team, server_pid)
        scope = units.server_scope(what, team, self._instance)
        await self._own.move(server_pid, scope, f"{what} of Corral's team {team}")

    async def place_of(self, team: str, agent: str) -> str:
        """See `Containment.place_of`. From memory, once it is known: the bus is not asked for every command."""
        for scope in await self._scopes.of_agents(team, [agent]):
            group = await self._groups.of_scope(scope)
            if group is not None:
                return group.path
        return ""

    async def shelter_daemon(self, pid: int) -> None:
        """See `Containment.shelter_daemon`."""
        await self._own.move(pid, units.process_scope("daemon", self._instance), "Corral's daemon")

    async def admit(self, team: str, placements: Sequence[Placement], team_limits: Limits) -> Admission:
        """See `Containment.admit`."""
        admission = Admission()
        try:
            place = await self._slices.of_team(team, set_limits(team_limits))
            if team_limits and await self._manager.control_group(place.name):
                await self._manager.set_properties(place.name, all_limits(team_limits))
        except CorralError as error:
            admission.problems = {one.run: f"it has no scope: {error.message}" for one in placements}
            return admission
        # The first makes the slice, the others find it.
        outcomes = [await self._admit(team, placement, place) for placement in placements[:1]]
        outcomes += await asyncio.gather(*(self._admit(team, placement, place) for placement in placements[1:]))
        for placement, problem in zip(placements, outcomes, strict=True):
            if problem:
                admission.problems[placement.run] = problem
                continue
            admission.levels[placement.run] = self.level
            group = self._hierarchy.of_process(placement.pid)
            if group is not None:  # else it ended already
                admission.cgroups[placement.run] = group.name
            for line in self._not_enforced(group, placement.limits):
                admission.notes.append(f"{placement.agent}: {line}")
        if placements:
            group = self._hierarchy.of_process(placements[0].pid)
            admission.notes.extend(f"the team: {line}" for line in self._not_enforced(group, team_limits))
        return admission

    async def _admit(self, team: str, placement: Placement, place: Place) -> str:
        problem = await self._admit_beside(team, placement)
        if problem:
            return problem
        group = self._hierarchy.of_process(placement.pid)
        names = units.agent_scopes(team, placement.agent, self._instance)
        if group is None or os.path.basename(group.path) not in names:
            try:
                scope = await self._scopes.make(
                    team, placement.agent, placement.pid, place, set_limits(placement.limits)
                )
            except CorralError as error:
                return f"it has no scope: {error.message}"
            group = self._hierarchy.of_process(placement.pid)
            if group is not None and os.path.basename(group.path) != scope.name:
                # systemd said done, and it is not: a scope can be reported dead while its process lives.
                return f"it is in {group.name} and not in {scope.name}"
        # else an earlier keeper came as far as this, and then no further
        if group is not None:  # else it ended already, and its scope with it
            self._groups.remember(group)
            marks.mark(group, self._instance, team, placement.agent)
        return ""

    async def _admit_beside(self, team: str, placement: Placement) -> str:
        """Join the scope that the agent still has, if processes of its are in it: they outlived its last run."""
        for scope, group in self._groups.marked(team).items():
            if scope.agent == placement.agent and any(one.populated() for one in sparing.process_groups(group)):
                try:
                    await asyncio.to_thread(group.admit, placement.pid)
                    await self._manager.set_properties(scope.name, all_limits(placement.limits))
                except (OSError, CorralError) as error:
                    return f"it cannot join its processes in {scope.name}: {error}"
        return ""

    # Limits

    async def limit(self, team: str, limits: Mapping[str, Limits], team_limits: Limits) -> list[str]:
        """See `Containment.limit`."""
        problems: list[str] = []
        around: set[str] = set()
        found = await self._groups.of_team(team)
        contained = {scope.agent for scope in found}
        outside = {agent: wanted for agent, wanted in limits.items() if agent not in contained}
        problems += await self._sweep.limit(team, outside, NO_LIMITS)
        for scope, group in found.items():
            around.update([os.path.basename(os.path.dirname(group.path))] if group is not None else [])
            if scope.agent not in limits:
                continue
            try:
                await self._manager.set_properties(scope.name, all_limits(limits[scope.agent]))
            except CorralError as error:
                problems.append(f"{scope.agent}: {error.message}")
            else:
                problems.extend(f"{scope.agent}: {line}" for line in self._not_enforced(group, limits[scope.agent]))
        return [*problems, *await self._limit_slices(team, around, team_limits)]

    async def _limit_slices(self, team: str, around: set[str], limits: Limits) -> list[str]:
        """Limit the slices that the agents of a team are in now. If none is there, the next agent makes it limited."""
        problems = []
        for name in sorted(around):
            if name not in self._slices.names_for(team):
                if limits:
                    problems.append(f"the team: its agents are in {name}, with others; they have to be restarted")
                continue
            try:
                await self._manager.set_properties(name, all_limits(limits))
            except CorralError as error:
                problems.append(f"the team: {error.message}")
            else:
                path = await self._manager.control_group(name)
                group = self._hierarchy.cgroup(path) if path else None
                problems.extend(f"the team: {line}" for line in self._not_enforced(group, limits))
        return problems

    def _not_enforced(self, group: Cgroup | None, limits: Limits) -> list[str]:
        """systemd takes every limit, also those for which it was given no controller."""
        if group is None or not limits:
            return []
        controllers = group.words("cgroup.controllers")
        return [
            f"{setting.limit} is not enforced: the {setting.controller} controller is missing"
            for setting in settings(limits)
            if not setting.usual and setting.controller not in controllers
        ]

    # Standing still

    async def freeze(self, team: str, runs: Mapping[str, str], *, frozen: bool) -> None:
        """See `Containment.freeze`. What is in no scope is stopped by the level below.

        On the cgroup itself, and not through systemd: so it works while systemd does not answer.
        """
        scopes = await self._scopes.of_agents(team, runs.values())
        groups = {scope.agent: [group] for scope in scopes if (group := await self._groups.of_scope(scope)) is not None}
        await self._contained.freeze(team, runs, groups, frozen=frozen)

    # Ending

    async def end_runs(
        self, team: str, runs: Mapping[str, str], roots: Sequence[int], grace: float, *, spare: bool
    ) -> Ended:
        """See `Containment.end_runs`."""
        groups = await self._groups.of_roots(team, runs.values(), roots)
        wanted = set(runs.values())
        scopes = {scope: group for scope, group in (await self._groups.of_team(team)).items() if scope.agent in wanted}
        for scope, group in scopes.items():
            if group is not None and group not in groups.setdefault(scope.agent, []):
                groups[scope.agent].append(group)
        await self._thaw(scopes)
        ended = await self._contained.end_runs(team, runs, roots, grace, groups, spare=spare)
        kept = [scope for scope, group in scopes.items() if spare and group is not None and group.populated()]
        await self._stop([scope for scope in scopes if scope not in kept])
        return ended

    async def end_team(self, team: str, grace: float) -> Ended:
        """See `Containment.end_team`."""
        scopes = await self._groups.of_team(team)
        groups = [group for group in scopes.values() if group is not None]
        groups += await self._groups.made_by_tmux(team)
        await self._thaw(scopes)
        ended = await self._contained.end_team(team, grace, groups)
        await self._stop(scopes)
        return ended

    async def forget_team(self, team: str) -> None:
        """See `Containment.forget_team`. Slices go by themselves."""
        try:
            await self._spawned.stop(team)
            servers = await self._groups.of_servers(team)
            # Panes may have started something before tmux, or we, moved them: it was born where the server was.
            await ending.end([group for group in servers.values() if group is not None], _LEFT_IN_SERVER_SECONDS)
            for name in servers:
                await self._manager.stop(name)
        except CorralError as error:
            log.warning("units of team %s may be left: %s", team, error.message)

    async def _stop(self, scopes: Iterable[Scope]) -> None:
        for scope in scopes:
            self._groups.forget(scope)
        try:
            refused = await self._scopes.stop(scopes)
        except UnavailableError as error:
            refused = [error.message]
        for line in refused:
            log.warning("a scope was not stopped: %s", line)

    async def _thaw(self, scopes: Mapping[Scope, Cgroup | None]) -> None:
        """What stands still cannot hear that it is to end."""
        for group in scopes.values():
            if group is not None:
                killing.thaw(group)

    # Measuring and counting

    async def usage(self, team: str) -> list[Usage]:
        """See `Containment.usage`."""
        agents: list[Usage] = []
        slices: set[Cgroup] = set()
        for scope, group in (await self._groups.of_team(team)).items():
            use = usage_files.of_cgroup(group, agent=scope.agent, level=self.level) if group is not None else None
            if group is not None and use is not None:
                agents.append(use)
                slices.add(group.parent())
        named = {use.agent for use in agents}
        outside = [use for use in await self._sweep.usage(team) if use.agent and use.agent not in named]
        agents += outside
        if not agents:
            return []
        whole = None
        if len(slices) == 1 and not outside and os.path.basename((one := slices.pop()).path) in self._own_slices(team):
            whole = usage_files.of_team(agents, one, level=self.level)
        # A team is contained as well as the worst of its agents.
        level = outside[0].level if outside else self.level
        return [*agents, whole or usage_files.total(agents, level=level)]

    def _own_slices(self, team: str) -> Collection[str]:
        """The slices that are the team's alone."""
        return self._slices.names_for(team)

    async def members(self, team: str) -> dict[str, list[int]]:
        """See `Containment.members`."""
        agents: dict[str, list[Cgroup]] = {}
        for scope, group in (await self._groups.of_team(team)).items():
            if group is not None:
                agents.setdefault(scope.agent, []).append(group)
        return await self._contained.members(team, agents)

    async def census(self, team: str) -> list[Check]:
        """See `Containment.census`."""
        residue: list[Residue] = []
        try:
            scopes: dict[str, Cgroup | None] = {
                scope.name: group for scope, group in (await self._groups.of_team(team, strict=True)).items()
            }
            scopes.update({one.name: one.group for one in await self._spawned.of_team(team)})
            scopes.update(await self._groups.of_servers(team))
        except CorralError as error:
            # What systemd knows is not to be had. What is in cgroups of ours still counts.
            residue.append(Residue(kind="unit", name="corral-*.scope", why=f"cannot be checked: {error.message}"))
            scopes = {scope.name: group for scope, group in self._groups.marked(team).items()}
        for name, group in scopes.items():
            why = "is active, with processes" if group is not None and group.populated() else "is active, yet empty"
            residue.append(Residue(kind="unit", name=name, why=why))
        checks = await self._contained.census(team, [group for group in scopes.values() if group is not None])
        if not residue:
            self._spawned.forget(team)
        return [*checks, Check(what="units", found=len(residue), residue=residue)]
