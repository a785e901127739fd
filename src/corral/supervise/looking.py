"""Looking at teams: at once when something seems to be wrong, and at all of them once in a while."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from corral.background import Background
from corral.domain import states
from corral.domain.errors import CorralError
from corral.domain.foreign_words import told_error
from corral.supervise import observe
from corral.supervise.registry import Registry

log = logging.getLogger("corral.daemon")

_SWEEP_SECONDS = 20.0
_RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Looking:
    """Reconciles teams until all is known of them. `lock` is the team's; `reconcile` is called with it held."""

    def __init__(
        self,
        registry: Registry,
        lock: Callable[[str], asyncio.Lock],
        reconcile: Callable[[str], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._lock = lock
        self._reconcile = reconcile
        self._now = now
        self._again: dict[str, asyncio.Event] = {}
        self._background = Background()

    def begin(self) -> None:
        """Start the sweep."""
        self._background.spawn(self._sweep(), name="sweep")

    def end(self) -> None:
        """Look no more."""
        self._background.cancel()

    def at(self, team: str) -> asyncio.Task[None] | None:
        """Something is up with the team: look at it now and not at the next sweep. One look at a time is enough."""
        again = self._again.get(team)
        if again is not None:
            again.set()
            return None
        again = self._again[team] = asyncio.Event()
        return self._background.spawn(self._look(team, again), name=f"look at {team}")

    def everywhere(self) -> list[asyncio.Task[None]]:
        """Look at every team."""
        looks = [self.at(team) for team in self._registry.teams]
        return [look for look in looks if look is not None]

    async def _sweep(self) -> None:
        """Look at everything once in a while, for what no event told. One question a team, no fork."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.everywhere()

    async def _look(self, team: str, again: asyncio.Event) -> None:
        try:
            await self._look_until_known(team, again)
        finally:
            del self._again[team]

    async def _look_until_known(self, team: str, again: asyncio.Event) -> None:
        """Reconcile a team, and go on trying for as long as nobody answers; sooner if `again` is set."""
        for attempt in range(10_000):
            again.clear()
            async with self._lock(team):
                if team not in self._registry.teams:
                    return
                try:
                    await self._reconcile(team)
                except CorralError as error:
                    log.warning("team %s cannot be seen: %s", team, error.message)
                    agents = self._registry.of_team(team).values()
                    lost = observe.lose_sight(agents, told_error(error), self._now())
                    await self._registry.observe(lost.agents.values(), lost.events)
                else:
                    known = all(agent.state != states.UNKNOWN for agent in self._registry.of_team(team).values())
                    if known and not again.is_set():
                        return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(again.wait(), _RETRY_SECONDS[min(attempt, len(_RETRY_SECONDS) - 1)])
