"""Leases in the store, and what is written when something becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from corral.domain.lease_model import Lease
from corral.domain.records import NewEvent, Who
from corral.ports.store import Change, Item, Store
from corral.service.lease_records import StoredLease, lease_of, stored_lease
from corral.service.lost_leases import Noted

_KIND = "lease"
_encode = msgspec.msgpack.Encoder().encode


async def read_leases(store: Store) -> list[Lease]:
    """All that are in the store."""
    return [lease_of(item.key, _decode(item.value)) for item in await store.items(_KIND)]


class LeaseChanges:
    """Makes what is to be written of what was decided."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def __call__(
        self,
        who: Who,
        event: str,
        *,
        put: Sequence[Lease] = (),
        drop: Sequence[Lease] = (),
        about: Sequence[Lease],
        noted: Noted | None = None,
    ) -> Change:
        """These are as they are now, those are gone, and the event is told of each that it is about."""
        put_lost, drop_lost = (noted.put, noted.drop) if noted is not None else ((), ())
        return Change(
            who=who,
            time=self._now(),
            put_items=[*(Item(_KIND, lease.lease, _encode(stored_lease(lease))) for lease in put), *put_lost],
            drop_items=[*((_KIND, lease.lease) for lease in drop), *drop_lost],
            events=[_event(event, lease) for lease in about],
        )


def _event(event: str, lease: Lease) -> NewEvent:
    claim = lease.claim
    team, slash, agent = claim.party.name.partition("/")
    data: dict[str, object] = {
        "lease": lease.lease,
        "token": lease.token,
        "patterns": [pattern.text for pattern in claim.patterns],
        "mode": claim.mode,
        "realm": claim.realm,
        **({} if slash else {"holder": claim.party.name}),
    }
    return NewEvent(event=event, team=team if slash else "", agent=agent, data=data)


def _decode(value: bytes) -> StoredLease:
    return msgspec.msgpack.decode(value, type=StoredLease)
