"""Those who want to know when files are free, and do not want to have them: they stand in nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from corral.background import Background
from corral.domain.errors import RefusedError
from corral.domain.lease_comparing import Comparing
from corral.domain.lease_model import Claim
from corral.domain.lease_refusals import what
from corral.domain.lease_room import check_waits
from corral.domain.leases import Leases
from corral.domain.waits import Waits


@dataclass(slots=True)
class Watching:
    """Somebody who waits until a claim could be granted."""

    #: Of the wait in `Waits`.
    ticket: int
    claim: Claim
    free: asyncio.Future[None]
    #: The leases, and the version of the realm, that it was last compared with.
    compared_with: tuple[Leases, int]


class LeaseWatchers:
    """All of them. Each is looked at again when something of its realm has changed: those of a realm one after the
    other, and no realm waits for another.
    """

    def __init__(
        self,
        waits: Waits,
        compare: Callable[[Claim], Awaitable[Comparing]],
        leases: Callable[[], Leases],
        refusal: Callable[[RefusedError, Comparing], RefusedError],
    ) -> None:
        self._waits = waits
        self._compare = compare
        self._leases = leases
        self._refusal = refusal
        #: By their tickets.
        self._watching: dict[int, Watching] = {}
        self._background = Background()
        #: Realms of which somebody is being looked at.
        self._looking: set[str] = set()

    def begin(self, compared: Comparing) -> Watching:
        """Wait for a claim; `RefusedError` if that could never end, or for too much. `end` must follow."""
        claim, leases = compared.claim, self._leases()
        party = claim.party.name
        check_waits(party, sum(one.claim.party.name == party for one in self._watching.values()), 0)
        ticket = self._waits.begin(party, leases.ahead_of(claim, compared), what(claim))
        free: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watching = Watching(ticket, claim, free, (leases, leases.version(claim.realm)))
        self._watching[ticket] = watching
        return watching

    def end(self, watching: Watching) -> None:
        """Nobody waits there any more."""
        del self._watching[watching.ticket]
        self._waits.end(watching.ticket)

    def tell(self) -> None:
        """Something may be free: those whose files are free now hear of it soon; whom the others wait for is noted."""
        for realm in {one.claim.realm for one in self._due()} - self._looking:
            self._looking.add(realm)
            self._background.spawn(self._look(realm), name="look for watched leases")

    async def _look(self, realm: str) -> None:
        try:
            while (watching := next((one for one in self._due() if one.claim.realm == realm), None)) is not None:
                await self._look_at(watching)
                await asyncio.sleep(0)
        finally:
            self._looking.discard(realm)

    def _due(self) -> Iterator[Watching]:
        """Those that have to be looked at again."""
        leases = self._leases()
        for one in self._watching.values():
            if not one.free.done() and one.compared_with != (leases, leases.version(one.claim.realm)):
                yield one

    async def _look_at(self, watching: Watching) -> None:
        claim, compared = watching.claim, None
        try:
            compared = await self._compare(claim)
            if watching.ticket not in self._watching or watching.free.done():
                return
            leases = self._leases()
            watching.compared_with = leases, leases.version(claim.realm)
            if leases.is_free(claim, compared):
                watching.free.set_result(None)
            else:
                self._waits.change(watching.ticket, leases.ahead_of(claim, compared))
        except RefusedError as error:
            if not watching.free.done():
                watching.free.set_exception(error if compared is None else self._refusal(error, compared))
