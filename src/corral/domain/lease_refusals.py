"""What somebody is told who does not get a lease or a lock: who is in the way, with what, and until when. Pure."""

from __future__ import annotations

from corral.domain.errors import RefusedError
from corral.domain.lease_model import Claim, Lease, Obstacle
from corral.domain.timestamps import timestamp
from corral.domain.told_names import told_pattern


def what(claim: Claim) -> str:
    """What a claim is on, as others are told of it."""
    names = ", ".join(told_pattern(pattern.text) for pattern in claim.patterns)
    return f"the lock {names}" if claim.lock else f"the lease on {names}"


def refusal(obstacle: Obstacle, expires_at: float, *, waited: bool, asked: str = "") -> RefusedError:
    """Refused because of what is in the way. `expires_at` is of the lease that is there, in unix seconds.

    `waited`: time was up; otherwise nobody wanted to wait. `asked` is put before what is told.
    """
    claim, lease = obstacle.claim, obstacle.lease
    holder, until = claim.party.name, timestamp(expires_at)
    pattern = told_pattern(obstacle.pattern.text)
    if obstacle.held and lease is not None:
        told = f"{holder} holds {pattern} ({claim.mode}) since {timestamp(lease.since)}, until {until}"
    elif lease is not None:
        ahead, theirs = lease.claim.party.name, told_pattern(lease.claim.patterns[0].text)
        told = f"{holder} came first and waits for {pattern}: it is behind {ahead}, who holds {theirs} until {until}"
    else:
        told = f"{holder} came first and is about to have {pattern}"
    wait = "wait longer" if waited else "stand in line for it (--wait)"
    return RefusedError(
        f"{asked}{told}{' or longer' if lease is not None else ''}",
        f"{wait}, work on something else, or ask its holder to release it",
        **_fields(obstacle, expires_at),
    )


def within_itself(lease: Lease, expires_at: float) -> RefusedError:
    """A command asks for the lock that it runs within: however long it waited, it would not get it."""
    name, holder = lease.claim.patterns[0], lease.claim.party.name
    held = f"{holder} holds the lock {told_pattern(name.text)} ({lease.lease})"
    return RefusedError(
        f"this would wait for itself: {held}, and asks for it from within",
        "do it with the lock that is held, or give that back first",
        **_fields(Obstacle(lease.claim, name, lease, held=True), expires_at),
    )


def does_not_run(name: str, state: str) -> RefusedError:
    """An agent whose run is over can hold nothing: nobody would ever give it back."""
    return RefusedError(
        f"{name} does not run ({state}): what is held in its name would stay for ever",
        "start it (corral up), or ask in your own name: without --agent",
    )


def with_holder(error: RefusedError, obstacle: Obstacle | None, expires_at: float) -> RefusedError:
    """The refusal of a wait that could never end, with what every refusal carries."""
    if obstacle is not None:
        error.details.update(_fields(obstacle, expires_at))
    return error


def _fields(obstacle: Obstacle, expires_at: float) -> dict[str, object]:
    lease = obstacle.lease
    return {
        "holder": obstacle.claim.party.name,
        "pattern": obstacle.pattern.text,
        "expires_at": timestamp(expires_at),
        **({"lease": lease.lease, "since": timestamp(lease.since)} if lease is not None else {}),
    }
