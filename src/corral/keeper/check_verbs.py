"""The verbs about looking after agents, done on this host. See `ports.checking.Checking`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.ports.checking import Checked, LastKey
from corral.ports.processes import ProcessOrder

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper


class CheckVerbs:
    """Each goes to the team that it is of."""

    _team: Callable[[str], TeamKeeper]

    async def check(self, team: str, order: ProcessOrder, within: float) -> Checked:
        return await self._team(team).checks.check(order, within)

    async def last_key(self, team: str) -> LastKey:
        return LastKey(seconds=await self._team(team).last_key())
