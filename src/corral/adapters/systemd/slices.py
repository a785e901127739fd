"""The slices that agents are in: which one, and what has to be made for it.

A slice that a mere mention brings into being stays for ever. So ours are made together with the first scope in them,
and told to go with the last one. systemd does that by itself and in one step: nobody has to ask first whether another
instance is about to use the slice. A slice that comes from a file, or was there before, belongs to the host and is used
as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbus_fast import Variant

from corral.adapters.systemd.manager import UserManager
from corral.domain import units

_TEAM = re.compile(r"Corral team ([a-z0-9-]+) \(instance ([0-9a-f]+)\)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where scopes are to go."""

    name: str
    #: Properties for slices on the way there that have to be made, by name.
    properties: Mapping[str, Mapping[str, Variant]] = field(default_factory=dict)


class Slices:
    """The slices of one instance in one user's systemd."""

    def __init__(self, manager: UserManager, instance: str, agent_slice: str) -> None:
        self._manager = manager
        self._instance = instance
        self._agent_slice = agent_slice

    @property
    def root(self) -> Place:
        """Where Corral's own processes are."""
        return Place(units.ROOT_SLICE, {units.ROOT_SLICE: {"Description": Variant("s", "Corral")}})

    @property
    def of_host(self) -> Place:
        """The slice that the host named for all agents."""
        return Place(self._agent_slice)

    async def of_team(self, team: str, properties: Mapping[str, Variant]) -> Place:
        """The slice for a team's agents, with these properties if it has to be made.

        The one that the host named is used as it is, unless the team has limits of its own: they need a slice too.
        """
        if self._agent_slice and not properties:
            return self.of_host
        plain, beside = self.names_for(team)
        known = {unit.name: unit for unit in await self._manager.units(plain, beside) if unit.active == "active"}
        theirs = _TEAM.fullmatch(known[plain].description) if plain in known else None
        foreign = theirs is not None and theirs.group(2) != self._instance
        name = beside if beside in known or foreign else plain
        about = {"Description": Variant("s", f"Corral team {team} (instance {self._instance})")}
        return Place(name, {**self.root.properties, name: {**about, **properties}})

    def names_for(self, team: str) -> tuple[str, str]:
        """Both names that the slice of a team may have."""
        below = self._agent_slice or units.ROOT_SLICE
        return units.team_slice(team, below), units.team_slice_beside(team, below, self._instance)

    async def missing(self, place: Place) -> dict[str, Mapping[str, Variant]]:
        """What has to be made for a scope to be there: for `UserManager.start_scope`."""
        around: Sequence[str] = units.slices_around(place.name)
        if not around:
            return {}
        there = {unit.name for unit in await self._manager.units(*around) if unit.active == "active"}
        return {
            name: place.properties.get(name, {})
            for name in around
            if name not in there and not await self._manager.unit_file(name)
        }
