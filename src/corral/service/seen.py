"""The teams and agents that a caller may know of, looked up as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from corral.domain.records import Agent, Team
from corral.service.authority import Asking
from corral.service.resolve import Roster
from corral.supervise.registry import no_agent

_K = TypeVar("_K")
_V = TypeVar("_V")


class _Those(Mapping[_K, _V]):
    """Those of a mapping that may be seen."""

    def __init__(self, all_of_them: Mapping[_K, _V], is_seen: Callable[[_K], bool]) -> None:
        self._all = all_of_them
        self._is_seen = is_seen

    def __getitem__(self, key: _K) -> _V:
        value = self._all[key]
        if not self._is_seen(key):
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[_K]:
        return (key for key in self._all if self._is_seen(key))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Seen:
    """See `resolve.Roster`. What may not be seen is not there: names mean what they would mean without it."""

    def __init__(self, everything: Roster, asking: Asking) -> None:
        self._everything = everything
        self._asking = asking
        self.teams: Mapping[str, Team] = _Those(everything.teams, self._sees_team)
        self.agents: Mapping[tuple[str, str], Agent] = _Those(everything.agents, lambda key: asking.sees(*key))

    @property
    def own(self) -> Mapping[str, Team]:
        """See the protocol."""
        owner = self._asking.itself.owner
        target = self._asking.authority.target
        return {name: team for name, team in self.teams.items() if owner and target(name).owner == owner}

    def named(self, name: str) -> list[Agent]:
        """See the protocol."""
        return [agent for agent in self._everything.named(name) if self._asking.sees(*agent.key)]

    def of_team(self, team: str) -> Mapping[str, Agent]:
        """See the protocol."""
        agents = self._everything.of_team(team)
        return {name: agent for name, agent in agents.items() if self._asking.sees(team, name)}

    def agent(self, team: str, name: str) -> Agent:
        """See the protocol."""
        agent = self.agents.get((team, name))
        if agent is None:
            raise no_agent(team, name, self.of_team(team))
        return agent

    def _sees_team(self, team: str) -> bool:
        """A team is known to whoever may know of it, or of one of its agents."""
        return self._asking.sees(team) or bool(self.of_team(team))
