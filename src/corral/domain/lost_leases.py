"""Leases that a session lost without giving them back: what whoever was held up has to be told when it comes back late.

A lease is lost if it expired, or if somebody else released it without its token. That alone harms nobody. If another
party got an exclusive lease on the same files afterwards, what the session meant to write there is out of date: it must
not land, whether the other one still holds it or has given it back. It may write there again once it holds a lease with
a greater token than the other's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from corral.domain.lease_comparing import Comparing
from corral.domain.lease_index import LeaseIndex
from corral.domain.lease_model import EXCLUSIVE, Lease

#: So many are remembered, and of each so many that took it over; the oldest are forgotten first.
MOST_LOST, MOST_TAKERS = 256, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A lease that was lost, and who got an exclusive one afterwards that can name the same files."""

    lease: Lease
    #: Unix seconds at which it was lost.
    at: float
    #: The first first.
    takers: tuple[Lease, ...] = ()


class LostLeases:
    """All that are remembered, by the name of the lease."""

    def __init__(self, lost: Iterable[Lost] = ()) -> None:
        self._lost = {one.lease.lease: one for one in lost}
        self.index: LeaseIndex[str] = LeaseIndex()
        for one in self._lost.values():
            self.index.add(one.lease.lease, one.lease.claim)

    def lose(self, lease: Lease, at: float) -> tuple[list[Lost], list[Lost]]:
        """Remember a lease of a session; those that are to be remembered now, and those that are forgotten for it.

        One that belongs to no run is nobody's in particular who could come back.
        """
        if not lease.claim.party.run:
            return [], []
        lost = self._lost[lease.lease] = Lost(lease=lease, at=at)
        self.index.add(lease.lease, lease.claim)
        forgotten = []
        while len(self._lost) > MOST_LOST:
            forgotten.append(self._drop(next(iter(self._lost))))
        return [lost], forgotten

    def grant(self, lease: Lease, met: Collection[str] | None = None) -> list[Lost]:
        """Take in that a lease was granted; those that it is a taker of, changed.

        `met` has the names of the leases that were in its way, be they held or lost then, if that was found out.
        """
        if not self._lost or lease.claim.mode != EXCLUSIVE:
            return []
        if met is None:
            compared = Comparing(lease.claim, self.index, LeaseIndex()).all()
            met = [str(name) for name in compared.in_the_way]
        changed = []
        for name in met:
            lost = self._lost.get(name)
            if lost is not None:
                now_it_is = replace(lost, takers=(*lost.takers, lease)[-MOST_TAKERS:])
                self._lost[name] = now_it_is
                changed.append(now_it_is)
        return changed

    def forget(self, parties: Iterable[str]) -> list[Lost]:
        """Forget those of parties that are gone; which they were."""
        gone = set(parties)
        found = [lost for lost in self._lost.values() if lost.lease.claim.party.name in gone]
        for lost in found:
            self._drop(lost.lease.lease)
        return found

    def _drop(self, name: str) -> Lost:
        lost = self._lost.pop(name)
        self.index.remove(name, lost.lease.claim)
        return lost

    def of(self, party: str, run: str) -> Iterator[Lost]:
        """What a session lost to somebody else."""
        for lost in self._lost.values():
            if lost.takers and lost.lease.claim.party.name == party and lost.lease.claim.party.run == run:
                yield lost
