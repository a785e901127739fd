"""Where the cgroups of a team are: of its agents' scopes, of its servers, and of what its tmux made."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence

from corral.adapters.cgroup.hierarchy import Hierarchy
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.systemd import marks
from corral.adapters.systemd.manager import UserManager
from corral.adapters.systemd.own import OwnScopes
from corral.adapters.systemd.scopes import Scope, Scopes
from corral.adapters.systemd.spawned import SpawnedScopes, is_spawned
from corral.domain import units
from corral.domain.errors import CorralError
from corral.ports.containment import SERVERS

log = logging.getLogger("corral.keeper")


class ScopeGroups:
    """Finds them: by what systemd says, by our marks, and from memory."""

    def __init__(
        self,
        manager: UserManager,
        hierarchy: Hierarchy,
        scopes: Scopes,
        own: OwnScopes,
        spawned: SpawnedScopes,
        *,
        instance: str,
        top: Cgroup,
    ) -> None:
        self._manager = manager
        self._hierarchy = hierarchy
        self._scopes = scopes
        self._own = own
        self._spawned = spawned
        self._instance = instance
        #: The cgroup of the manager: everything that it makes is below.
        self._top = top
        self._known: dict[str, Cgroup] = {}  # by the name of the scope

    def remember(self, group: Cgroup) -> None:
        """It is the cgroup of a scope of ours."""
        self._known[os.path.basename(group.path)] = group

    def forget(self, scope: Scope) -> None:
        """The scope is to be no more."""
        self._known.pop(scope.name, None)

    async def of_team(self, team: str, *, strict: bool = False) -> dict[Scope, Cgroup | None]:
        """The scopes of a team with their cgroups: those that systemd names, and those that have our mark.

        Without systemd the marks are what there is; `strict` raises then.
        """
        found: dict[Scope, Cgroup | None] = dict(self.marked(team))
        try:
            for scope in await self._scopes.of_team(team):
                if scope not in found:
                    found[scope] = await self.of_scope(scope)
        except CorralError as error:
            if strict:
                raise
            log.warning("systemd cannot be asked for the scopes of %s: %s", team, error.message)
        return found

    def marked(self, team: str) -> dict[Scope, Cgroup]:
        """Those that have our mark: no bus is needed."""
        return {
            Scope(os.path.basename(group.path), team, agent): group
            for agent, group in marks.marked(self._top, self._instance, team)
        }

    async def of_scope(self, scope: Scope) -> Cgroup | None:
        """The cgroup of a scope, while it exists."""
        group = self._known.get(scope.name)
        if group is None:
            path = await self._manager.control_group(scope.name)
            group = self._hierarchy.cgroup(path) if path else None
            if group is None:
                return None
            self._known[scope.name] = group
        return group if group.exists() else None

    async def of_servers(self, team: str) -> dict[str, Cgroup | None]:
        """The scopes of the team's servers, by name."""
        found: dict[str, Cgroup | None] = {}
        for what in SERVERS:
            found.update(await self._own.found(units.server_scope(what, team, self._instance)))
        return found

    async def made_by_tmux(self, team: str) -> list[Cgroup]:
        """The cgroups of the scopes that the team's tmux made; none if systemd does not answer."""
        try:
            return [one.group for one in await self._spawned.of_team(team) if one.group is not None]
        except CorralError as error:
            log.warning("systemd cannot be asked for the scopes that tmux made for %s: %s", team, error.message)
            return []

    async def of_roots(self, team: str, agents: Iterable[str], roots: Sequence[int]) -> dict[str, list[Cgroup]]:
        """The cgroups that first processes of ours are in, if they have the name of such a scope: no bus is needed.

        Also those that the team's tmux made for them, where systemd is off: one pane, one scope.
        """
        names = {name: agent for agent in agents for name in units.agent_scopes(team, agent, self._instance)}
        found: dict[str, list[Cgroup]] = {}
        around = [group for pid in roots if (group := self._hierarchy.of_process(pid)) is not None]
        spawned = await self.made_by_tmux(team) if any(map(is_spawned, around)) else []
        for group in around:
            agent = "" if group in spawned else names.get(os.path.basename(group.path))
            if agent is not None and group not in found.setdefault(agent, []):
                found[agent].append(group)
        return found
