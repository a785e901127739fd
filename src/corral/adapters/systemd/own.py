"""The scopes of Corral's own processes: keeper, daemon, tmux servers. Each can be stopped without the others."""

from __future__ import annotations

import os

from corral.adapters.cgroup.hierarchy import Hierarchy
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.systemd.manager import SystemdError, UserManager
from corral.adapters.systemd.slices import Place, Slices
from corral.domain import units
from corral.domain.host_names import KEEPER_SERVICE

#: Tries for one name, if something is in the way that goes or comes while we look.
_ATTEMPTS = 4


class OwnScopes:
    """Makes and finds them."""

    def __init__(self, manager: UserManager, hierarchy: Hierarchy, slices: Slices) -> None:
        self._manager = manager
        self._hierarchy = hierarchy
        self._slices = slices

    async def move(self, pid: int, scope: str, description: str, place: Place | None = None) -> None:
        """Put a process of Corral's own into a scope of its own; nothing if it is there already.

        A predecessor may have left something in a scope of that name: it is not ended, and ours gets another name.
        """
        group = self._hierarchy.of_process(pid)
        names = units.own_scopes(scope, pid)
        # A keeper of a shared server has a unit of its own from the start.
        if group is not None and os.path.basename(group.path) in (*names, KEEPER_SERVICE):
            return
        place = place or self._slices.root
        for name in names:
            for _ in range(_ATTEMPTS):
                try:
                    await self._manager.start_scope(
                        name, [pid],
                        slice_name=place.name, description=description, properties={},
                        slices=await self._slices.missing(place),
                    )  # fmt: skip
                except SystemdError as error:
                    if not error.exists:
                        raise
                    path = await self._manager.control_group(name)
                    group = self._hierarchy.cgroup(path) if path else None
                    if group is not None and group.populated():
                        break
                    await self._manager.stop(name)  # it is empty: systemd has yet to notice
                else:
                    return
        raise SystemdError(f"a scope for {description} cannot be made: both its names are taken")

    async def found(self, scope: str) -> dict[str, Cgroup | None]:
        """The scopes that have this name or the one beside it, with their cgroups; also of what has ended."""
        found: dict[str, Cgroup | None] = {}
        for unit in await self._manager.units(*units.own_scopes(scope, "*")):
            path = await self._manager.control_group(unit.name)
            found[unit.name] = self._hierarchy.cgroup(path) if path else None
        return found
