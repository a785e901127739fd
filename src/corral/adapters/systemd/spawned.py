"""The scopes that tmux makes by itself, one for each pane, and which of them are of our servers.

tmux 3.4 and later puts every pane into a `tmux-spawn-*.scope`. Where a scope of ours takes the pane over, tmux's is
left empty; with systemd switched off, the pane stays in it. Those of a person's own tmux are none of our business, also
if something of ours is in one: only the server that made a scope tells whose it is, and tmux writes its pid on it.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from corral.adapters.cgroup.hierarchy import Hierarchy
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc
from corral.adapters.systemd.manager import Unit, UserManager
from corral.domain import units

_DESCRIPTION = re.compile(r"tmux child pane \d+ launched by process (\d+)")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Spawned:
    """A scope that a server of ours made."""

    name: str
    #: None if it has none any more.
    group: Cgroup | None


def is_spawned(group: Cgroup) -> bool:
    """True for the cgroup of such a scope, of whichever server."""
    name = os.path.basename(group.path)
    return name.startswith(units.SPAWNED_BY_TMUX.partition("*")[0]) and name.endswith(".scope")


class SpawnedScopes:
    """Finds them for one instance."""

    def __init__(
        self, manager: UserManager, hierarchy: Hierarchy, servers: Callable[[str], list[proc.Process]]
    ) -> None:
        self._manager = manager
        self._hierarchy = hierarchy
        #: The tmux servers of a team that are proved to be its, of those that live.
        self._find_servers = servers
        #: All that were seen so far, by team: their scopes may outlive them.
        self._servers: dict[str, set[proc.Process]] = {}
        #: The scopes that were found; their names are never used again.
        self._seen: dict[str, set[str]] = {}

    def made_by(self, team: str, server_pid: int) -> None:
        """This is the team's server, as whoever is connected to it says."""
        server = proc.read(server_pid)
        if server is not None:
            self._servers.setdefault(team, set()).add(server)

    async def of_team(self, team: str) -> list[Spawned]:
        """Those of the team's servers, living and dead, asked anew."""
        servers = self._servers.setdefault(team, set())
        servers.update(await asyncio.to_thread(self._find_servers, team))
        seen = self._seen.setdefault(team, set())
        found = []
        for unit in await self._manager.units(units.SPAWNED_BY_TMUX):
            if unit.name in seen or await self._is_of(unit, servers):
                seen.add(unit.name)
                path = await self._manager.control_group(unit.name)
                found.append(Spawned(unit.name, self._hierarchy.cgroup(path) if path else None))
        return found

    async def stop(self, team: str) -> None:
        """Stop those of a team whose server has ended."""
        for one in await self.of_team(team):
            if one.group is None or not one.group.populated():
                await self._manager.stop(one.name)

    def forget(self, team: str) -> None:
        """Nothing is left of the team."""
        self._seen.pop(team, None)
        self._servers.pop(team, None)

    async def _is_of(self, unit: Unit, servers: set[proc.Process]) -> bool:
        """True if one of the servers made the scope, and not another process that had its pid before or has it now."""
        match = _DESCRIPTION.fullmatch(unit.description)
        same_pid = [server for server in servers if match and server.pid == int(match[1])]
        if not same_pid:
            return False
        asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
        began = await self._manager.began(unit) + asleep
        return any(server.start / _TICKS - 1 <= began < _end_of(server) for server in same_pid)


def _end_of(server: proc.Process) -> float:
    """When a server had ended for certain, in seconds after boot: as soon as another process has its pid."""
    now = proc.read(server.pid)
    return math.inf if now is None or now.start == server.start else now.start / _TICKS
