"""Leases as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from corral.api.answers import Answer
from corral.domain.timestamps import timestamp
from corral.service.leases import Held


class Lease(Answer, frozen=True):
    """What somebody holds."""

    lease: Annotated[str, Meta(description="its name")]
    token: Annotated[int, Meta(description="greater than that of every earlier one: what an effect is fenced by")]
    patterns: Annotated[list[str], Meta(description="what is held; of a lock, its name")]
    mode: Annotated[str, Meta(description="exclusive or shared")]
    agent: Annotated[str, Meta(description="who holds it: TEAM/AGENT, or a person")]
    expires_at: Annotated[
        str,
        Meta(
            description="when it goes without a sign of life; one of an agent is renewed while that runs",
            extra_json_schema={"format": "date-time"},
        ),
    ]
    since: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    suspect: Annotated[bool, Meta(description="the agent's run has ended without a word: it goes at `expires_at`")]


class Leases(Answer, frozen=True):
    """All that are held."""

    leases: list[Lease]


class Checked(Answer, frozen=True):
    """Nobody else holds these."""

    free: bool
    paths: Sequence[str]


def lease(held: Held) -> Lease:
    """One lease."""
    one = held.lease
    return Lease(
        lease=one.lease,
        token=one.token,
        patterns=[pattern.text for pattern in one.claim.patterns],
        mode=one.claim.mode,
        agent=one.claim.party.name,
        expires_at=timestamp(held.expires_at),
        since=timestamp(one.since),
        suspect=one.suspect,
    )
