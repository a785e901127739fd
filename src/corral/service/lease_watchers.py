"""Those who want to know when files are free, and do not want to have them: they stand in nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.domain.lease_refusals import what
from corral.domain.leases import Claim, Leases
from corral.domain.waits import Waits


@dataclass(frozen=True, slots=True)
class Watching:
    """Somebody who waits until a claim could be granted."""

    #: Of the wait in `Waits`.
    ticket: int
    claim: Claim
    free: asyncio.Future[None]


class LeaseWatchers:
    """All of them."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        #: By their tickets.
        self._watching: dict[int, Watching] = {}

    def begin(self, claim: Claim, leases: Leases) -> Watching:
        """Wait for it; `RefusedError` if that could never end. `end` must follow."""
        ticket = self._waits.begin(claim.party.name, leases.ahead_of(claim), what(claim))
        watching = self._watching[ticket] = Watching(ticket, claim, asyncio.get_running_loop().create_future())
        return watching

    def end(self, watching: Watching) -> None:
        """Nobody waits there any more."""
        del self._watching[watching.ticket]
        self._waits.end(watching.ticket)

    def tell(self, leases: Leases, refusal: Callable[[RefusedError, Claim], RefusedError]) -> None:
        """Tell those of it whose files are free now; whom the others wait for is noted."""
        for watching in self._watching.values():
            if watching.free.done():
                continue
            if leases.is_free(watching.claim):
                watching.free.set_result(None)
                continue
            try:
                self._waits.change(watching.ticket, leases.ahead_of(watching.claim))
            except RefusedError as error:
                watching.free.set_exception(refusal(error, watching.claim))
