"""What lives on when the tmux server of a team is gone: deaf to the hang-up that came with the end of its terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Set

from corral.background import Background
from corral.domain.errors import CorralError
from corral.ports.containment import Containment

#: How long what was told of the end of its terminal may take to go. Who needs longer is counted.
_SECONDS = 0.5
_SOONEST, _LATEST = 0.02, 0.1


class Survivors:
    """Counts the survivors of one team. Its agents lose their terminals at once, so all who ask share a look."""

    def __init__(self, containment: Containment, team: str, background: Background) -> None:
        self._containment = containment
        self._team = team
        self._background = background
        self._look: asyncio.Task[dict[str, int] | None] | None = None

    async def count(self, without_terminal: Set[str]) -> dict[str, int] | None:
        """How many tasks each agent has left, if any. None if nobody can tell. Only asked when there is no server.

        Agents that had no terminal did not lose one.
        """
        if self._look is None or self._look.done():
            self._look = self._background.spawn(self._settled(without_terminal), name=f"survivors of {self._team}")
        return await asyncio.shield(self._look)

    async def _settled(self, without_terminal: Set[str]) -> dict[str, int] | None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SECONDS
        delay = _SOONEST
        while (left := await self._now(without_terminal)) and loop.time() < deadline:
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LATEST)
        return left

    async def _now(self, without_terminal: Set[str]) -> dict[str, int] | None:
        try:
            usage = await self._containment.usage(self._team)
        except CorralError:
            return None
        return {one.agent: one.tasks for one in usage if one.agent not in ("", *without_terminal) and one.tasks}
