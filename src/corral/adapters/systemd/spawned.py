"""The scopes that tmux makes by itself, one for each pane, and which of them are of our servers.

tmux 3.4 and later puts every pane into a `tmux-spawn-*.scope`. Where a scope of ours takes the pane over, tmux's is
left empty; with systemd switched off, the pane stays in it. Those of a person's own tmux are none of our business.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from corral.adapters.cgroup.hierarchy import Hierarchy
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc
from corral.adapters.systemd.manager import Unit, UserManager
from corral.domain import units
from corral.domain.environment import team_markers

_DESCRIPTION = re.compile(r"tmux child pane (\d+) launched by process (\d+)")
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

    def __init__(self, manager: UserManager, hierarchy: Hierarchy, instance: str) -> None:
        self._manager = manager
        self._hierarchy = hierarchy
        self._instance = instance
        #: Found while their server lived; by team.
        self._seen: dict[str, set[str]] = {}

    async def of_team(self, team: str) -> list[Spawned]:
        """Those of the team's servers, living and dead, asked anew."""
        ours = proc.marked(proc.every_process(), team_markers(self._instance, team))
        servers = {
            process.pid: process
            for process in ours
            if process.name.startswith("tmux: server") and not proc.is_of_a_run(process)
        }
        seen = self._seen.setdefault(team, set())
        # One pane, one scope: what our agent's process is in holds nothing but what came from that pane.
        places = (self._hierarchy.of_process(process.pid) for process in ours)
        seen.update(os.path.basename(group.path) for group in places if group is not None and is_spawned(group))
        found = []
        for unit in await self._manager.units(units.SPAWNED_BY_TMUX):
            match = _DESCRIPTION.search(unit.description)
            server = servers.get(int(match.group(2))) if match else None
            if unit.name in seen or (server is not None and not await self._older(unit, server)):
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

    async def _older(self, unit: Unit, server: proc.Process) -> bool:
        """True if a scope is certainly older than the server: it was made by an earlier process of the same pid."""
        asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
        return await self._manager.began(unit) + asleep < server.start / _TICKS - 1
