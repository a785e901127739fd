"""What every watch over agents has in common: it hears of each that changes, and has one timer for each at most."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from corral.background import Background
from corral.service.alarms import Alarms
from corral.service.context import Context

#: An agent, by team and name.
Key = tuple[str, str]


class AgentWatch(ABC):
    """Follows every agent from `begin` on, also those that an earlier daemon followed."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._alarms: Alarms[Key] = Alarms()
        self._background = Background()

    def begin(self) -> None:
        """Watch from now on."""
        self._registry.watch_agents(self._changed)
        self._changed(list(self._registry.agents))

    def end(self) -> None:
        """Watch no more."""
        self._alarms.end()
        self._background.cancel()

    def _changed(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._follow(key)

    @abstractmethod
    def _follow(self, key: Key) -> None:
        """The agent has changed, or is gone: have its timer be as it is now."""
