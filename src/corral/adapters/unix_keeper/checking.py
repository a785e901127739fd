"""The calls about looking after agents to a keeper at the other end of a stream."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.checking import Checked, LastKey
from corral.ports.processes import ProcessOrder

#: What comes to the time that a check may take: to start it, and to end what it left.
_CHECK_SECONDS = 30.0
_LOOK_SECONDS = 10.0


class CheckCalls(Calls):
    """See `ports.checking.Checking`."""

    async def check(self, team: str, order: ProcessOrder, within: float) -> Checked:
        return await self._call(Checked, "check", within + _CHECK_SECONDS, team=team, order=order, within=within)

    async def last_key(self, team: str) -> LastKey:
        return await self._call(LastKey, "last_key", _LOOK_SECONDS, team=team)
