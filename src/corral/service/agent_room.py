"""How many agents there may be of one person, with those that are just being made."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from corral.domain import shares
from corral.service.ownership import PersonOf, one_person
from corral.supervise.registry import Registry

_Key = tuple[str, str]


class AgentRoom:
    """The agents of each person: of whoever has their team up."""

    def __init__(self, registry: Registry, person_of: PersonOf = one_person) -> None:
        self._registry = registry
        self._person_of = person_of
        #: By person, agents that are being made: they may not be written down yet.
        self._coming: dict[str, set[_Key]] = {}

    def check(self, user: str, team: str, agents: Collection[str]) -> None:
        """`RefusedError` if these agents of a team of that OS user would be too many for its person."""
        person = self._person_of(user)
        if not person:
            return
        there = (self._there(person) | self._coming.get(person, set())) - {(team, "")}
        more = len({(team, agent) for agent in agents} - there)
        if more and len(there) + more > shares.AGENTS:
            raise shares.too_many_agents(person, len(there), more)

    @contextlib.contextmanager
    def taken(self, user: str, team: str, agents: Collection[str]) -> Iterator[None]:
        """Make these agents meanwhile. `RefusedError` as of `check`."""
        self.check(user, team, agents)
        coming = self._coming.setdefault(self._person_of(user), set())
        # The caller holds the lock of the team: nobody else makes any of these.
        keys = {(team, agent) for agent in agents}
        coming |= keys
        try:
            yield
        finally:
            coming -= keys

    def _there(self, person: str) -> set[_Key]:
        """The agents, and each team that has none."""
        teams = {team.name for team in self._registry.teams.values() if self._person_of(team.user) == person}
        agents = {key for key in self._registry.agents if key[0] in teams}
        return agents | {(team, "") for team in teams - {team for team, _ in agents}}
