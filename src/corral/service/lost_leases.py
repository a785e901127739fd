"""Lost leases in the store: written with what they are lost by, so that a daemon that dies forgets none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import msgspec

from corral.domain.lease_model import Lease
from corral.domain.lost_leases import Lost, LostLeases
from corral.ports.store import Item, Store
from corral.service.lease_records import StoredLease, lease_of, stored_lease

_KIND = "lost-lease"
_encode = msgspec.msgpack.Encoder().encode


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A lost lease, as it is in the store."""

    name: str
    lease: StoredLease
    at: float
    takers: dict[str, StoredLease] = {}


@dataclass(frozen=True, slots=True)
class Noted:
    """What is to be written with a change of leases."""

    put: list[Item] = field(default_factory=list)
    drop: list[tuple[str, str]] = field(default_factory=list)


class LostBook:
    """What sessions lost. Each call changes it, and gives what is to be written with whatever it is told of."""

    def __init__(self) -> None:
        self.leases = LostLeases()

    @staticmethod
    async def read(store: Store) -> LostLeases:
        """As an earlier daemon wrote them; the oldest first."""
        found = [_lost(item) for item in await store.items(_KIND)]
        return LostLeases(sorted(found, key=lambda lost: lost.at))

    def lose(self, leases: Sequence[Lease], at: float) -> Noted:
        """These were lost."""
        noted = Noted()
        for lease in leases:
            kept, forgotten = self.leases.lose(lease, at)
            noted.put.extend(map(_item, kept))
            noted.drop.extend(map(_key, forgotten))
        return noted

    def grant(self, lease: Lease, met: Collection[str]) -> Noted:
        """This was granted, and may be what somebody lost: `met` has the names of the leases that were in its way."""
        return Noted(put=[_item(lost) for lost in self.leases.grant(lease, met)])

    def forget(self, parties: Sequence[str]) -> Noted:
        """These parties are gone."""
        return Noted(drop=[_key(lost) for lost in self.leases.forget(parties)])


def _key(lost: Lost) -> tuple[str, str]:
    return _KIND, lost.lease.lease


def _item(lost: Lost) -> Item:
    stored = _Stored(
        name=lost.lease.lease,
        lease=stored_lease(lost.lease),
        at=lost.at,
        takers={taker.lease: stored_lease(taker) for taker in lost.takers},
    )
    return Item(*_key(lost), _encode(stored))


def _lost(item: Item) -> Lost:
    stored = msgspec.msgpack.decode(item.value, type=_Stored)
    takers = tuple(lease_of(name, one) for name, one in stored.takers.items())
    return Lost(lease=lease_of(stored.name, stored.lease), at=stored.at, takers=takers)
