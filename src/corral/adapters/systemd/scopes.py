"""The scopes of agents: which there are, whose they are, and where their cgroups lie.

A scope is proved ours by its description, which names the instance. Its name alone proves nothing: another instance may
have a team of the same name.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbus_fast import Variant

from corral.adapters.systemd.manager import SystemdError, Unit, UserManager
from corral.adapters.systemd.slices import Place, Slices
from corral.domain import units

log = logging.getLogger("corral.keeper")

_DESCRIPTION = re.compile(r"Corral agent ([a-z0-9-]+)/([a-z0-9-]+) \(instance ([0-9a-f]+)\)")
#: Tries for one name: what is in the way, a scope or a slice, may go or come while we look.
_ATTEMPTS = 4
#: The first version that knows what to do about a scope that ran out of memory.
_OOM_POLICY_VERSION = 253


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of an agent of ours."""

    name: str
    team: str
    agent: str


class Scopes:
    """The scopes of one instance in one user's systemd."""

    def __init__(self, manager: UserManager, slices: Slices, instance: str, version: int) -> None:
        self._manager = manager
        self._slices = slices
        self._instance = instance
        self._fixed = {
            "SendSIGHUP": Variant("b", True),
            "TimeoutStopUSec": Variant("t", 5_000_000),
            # Each process that is started for the agent gets a cgroup of its own below the scope's.
            "Delegate": Variant("b", True),
        }
        if version >= _OOM_POLICY_VERSION:
            # One process that wanted too much is killed, and the agent may live to read of it.
            self._fixed["OOMPolicy"] = Variant("s", "continue")
        #: (team, agent) → the name of its scope, as far as this process made or found it.
        self._known: dict[tuple[str, str], str] = {}

    async def of_team(self, team: str) -> list[Scope]:
        """Every scope of the team that systemd knows, asked anew."""
        found = []
        for unit in await self._manager.units("corral-*.scope"):
            scope = self._ours(unit)
            if scope is not None and scope.team == team:
                self._known[scope.team, scope.agent] = scope.name
                found.append(scope)
        return found

    async def of_agents(self, team: str, agents: Iterable[str]) -> list[Scope]:
        """The scopes of these agents, from memory where that is possible."""
        wanted = set(agents)
        if not all((team, agent) in self._known for agent in wanted):
            return [scope for scope in await self.of_team(team) if scope.agent in wanted]
        return [Scope(self._known[team, agent], team, agent) for agent in sorted(wanted)]

    async def make(self, team: str, agent: str, pid: int, place: Place, properties: Mapping[str, Variant]) -> Scope:
        """A scope with this process in it. One that is left over from an earlier run is stopped first."""
        description = f"Corral agent {team}/{agent} (instance {self._instance})"
        for name in units.agent_scopes(team, agent, self._instance):
            for _ in range(_ATTEMPTS):
                try:
                    await self._manager.start_scope(
                        name,
                        [pid],
                        slice_name=place.name,
                        description=description,
                        properties={**self._fixed, **properties},
                        slices=await self._slices.missing(place),
                    )
                except SystemdError as error:
                    if not error.exists:
                        raise
                    if not await self._clear_away(Scope(name, team, agent)):
                        break  # somebody else's: take the other name
                else:
                    self._known[team, agent] = name
                    return Scope(name, team, agent)
        raise SystemdError(f"a scope for {team}/{agent} cannot be made: both its names are taken")

    async def stop(self, scopes: Iterable[Scope]) -> list[str]:
        """Stop scopes whose processes have ended. Returns what systemd refused, in words."""
        outcomes = await asyncio.gather(*(self._stop(scope) for scope in scopes))
        return [outcome for outcome in outcomes if outcome]

    async def _stop(self, scope: Scope) -> str:
        self._known.pop((scope.team, scope.agent), None)
        try:
            await self._manager.stop(scope.name)
        except SystemdError as error:
            return f"{scope.name}: {error.message}"
        return ""

    async def _clear_away(self, scope: Scope) -> bool:
        """Stop a scope that is in the way if it is of an earlier run of the agent; False if it is not."""
        found = [self._ours(unit) for unit in await self._manager.units(scope.name)]
        if not found:
            return True  # it went by itself
        if found[0] != scope:
            return False  # also for another agent of ours: `b-c` of team `a`, and `c` of team `a-b`
        await self._manager.stop(scope.name)
        return True

    def _ours(self, unit: Unit) -> Scope | None:
        match = _DESCRIPTION.fullmatch(unit.description)
        if match is None or match.group(3) != self._instance:
            return None
        return Scope(unit.name, match.group(1), match.group(2))
