"""Commands that tell people of something: contained as gates are, one at a time, and none is left behind."""

from __future__ import annotations

import asyncio

from corral.domain.errors import RefusedError
from corral.keeper.gates import TeamGates
from corral.ports.merging import GateOrder, GateSeen

#: Of what it wrote, so much is told.
_TOLD_BYTES = 2000


class TeamNotices:
    """The notices of one team."""

    def __init__(self, gates: TeamGates) -> None:
        self._gates = gates
        self._turn = asyncio.Lock()
        self._stopped = False

    def begin(self) -> None:
        """The team is up: they are run from now on."""
        self._stopped = False

    def stop(self) -> None:
        """The team goes down: run no more of them.

        Of those who leave a terminal because it goes, people would be told meanwhile; a host with commands cannot end.
        """
        self._stopped = True

    async def ended(self) -> None:
        """Return when nothing is left of the one that ran; whatever it started was ended with the team."""
        async with self._turn:
            return

    async def run(self, order: GateOrder, within: float) -> GateSeen:
        """See `Notices.run_notice`."""
        async with self._turn:
            if self._stopped:
                raise RefusedError("the team goes down, and runs no commands any more", "the journal has it")
            # What an earlier keeper left is nobody's any more.
            await self._gates.end()
            try:
                await self._gates.start(order)
                if self._stopped:
                    return GateSeen(running=True)
                return await self._gates.wait(order.gate, wait=within, limit=_TOLD_BYTES)
            finally:
                # Also if whoever waited has gone: one that nobody waits for is not left to run.
                await asyncio.shield(self._gates.end())
