"""A lease as it is in the store."""

from __future__ import annotations

import msgspec

from corral.domain.lease_model import Claim, Lease, Party
from corral.domain.path_patterns import parse


class StoredLease(msgspec.Struct, frozen=True, kw_only=True):
    """What is written of a lease, beside its name."""

    token: int
    realm: str
    patterns: list[str]
    mode: str
    party: str
    run: str
    ttl: float
    since: float
    suspect: bool
    lock: bool = False
    ignore_case: bool = False


def stored_lease(lease: Lease) -> StoredLease:
    """What is to be written of a lease."""
    claim = lease.claim
    return StoredLease(
        token=lease.token,
        realm=claim.realm,
        patterns=[pattern.text for pattern in claim.patterns],
        mode=claim.mode,
        party=claim.party.name,
        run=claim.party.run,
        ttl=claim.ttl,
        since=lease.since,
        suspect=lease.suspect,
        lock=claim.lock,
        ignore_case=claim.ignore_case,
    )


def lease_of(name: str, stored: StoredLease) -> Lease:
    """The lease that was written."""
    claim = Claim(
        realm=stored.realm,
        patterns=tuple(parse(pattern) for pattern in stored.patterns),
        mode=stored.mode,
        party=Party(stored.party, stored.run),
        ttl=stored.ttl,
        lock=stored.lock,
        ignore_case=stored.ignore_case,
    )
    return Lease(lease=name, token=stored.token, claim=claim, since=stored.since, suspect=stored.suspect)
