"""Commands that tell people of something: contained as gates are, one at a time, and none is left behind."""

from __future__ import annotations

import asyncio

from corral.keeper.gates import TeamGates
from corral.ports.merging import GateOrder, GateSeen

#: Of what it wrote, so much is told.
_TOLD_BYTES = 2000


class TeamNotices:
    """The notices of one team."""

    def __init__(self, gates: TeamGates) -> None:
        self._gates = gates
        self._turn = asyncio.Lock()

    async def run(self, order: GateOrder, within: float) -> GateSeen:
        """See `Notices.run_notice`."""
        async with self._turn:
            # What an earlier keeper left is nobody's any more.
            await self._gates.end()
            try:
                await self._gates.start(order)
                return await self._gates.wait(order.gate, wait=within, limit=_TOLD_BYTES)
            finally:
                # Also if whoever waited has gone: one that nobody waits for is not left to run.
                await asyncio.shield(self._gates.end())
