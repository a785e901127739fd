"""Who waits for whom because of leases, as it is told to the graph of all waits.

Between parties it is the party that waits and that is waited for. Locks of one party are in each other's way as well,
and there it is the command: one that runs within a lock waits for another command that holds one.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.errors import RefusedError
from corral.domain.lease_model import Claim
from corral.domain.lease_refusals import what
from corral.domain.leases import Leases
from corral.domain.waits import Waits


class LeaseWaits:
    """The waits of those in line for leases and locks, by tickets."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits

    def begin(self, leases: Leases, number: int, claim: Claim) -> list[int]:
        """Somebody in line begins to wait; tickets to end it by. `RefusedError` if that could never end."""
        tickets: list[int] = []
        try:
            tickets.append(self._waits.begin(claim.party.name, leases.waited_for(number), what(claim)))
            ahead = _commands(claim, leases.own_locks_ahead(claim))
            around = _commands(claim, leases.own_locks_around(claim))
            tickets.extend(self._waits.begin(command, ahead, what(claim)) for command in around)
        except RefusedError:
            self.end(tickets)
            raise
        return tickets

    def change(self, tickets: Sequence[int], leases: Leases, number: int, claim: Claim) -> None:
        """It is others that are waited for now. Raises as `begin`."""
        self._waits.change(tickets[0], leases.waited_for(number))
        ahead = _commands(claim, leases.own_locks_ahead(claim))
        for ticket in tickets[1:]:
            self._waits.change(ticket, ahead)

    def end(self, tickets: Sequence[int]) -> None:
        """It is over; again is no harm."""
        for ticket in tickets:
            self._waits.end(ticket)


def _commands(claim: Claim, locks: Sequence[str] | set[str]) -> list[str]:
    """The commands of a party that hold these locks, as the graph knows them."""
    return [f"{claim.party.name} within lock {lock}" for lock in sorted(locks)]
