"""What is answered about the audit trail."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from corral.api.answers import Answer


class AuditWho(Answer, frozen=True):
    """Who did it."""

    uid: int
    user: str
    member: bool
    role: str
    agent: str
    run: str
    via: Annotated[
        str | UnsetType, Meta(description="`tcp:` and the id of the token, if it was asked over TCP; else missing")
    ] = UNSET


class AuditOn(Answer, frozen=True):
    """On what it was done."""

    kind: str
    team: str
    agent: str


class AuditEntry(Answer, frozen=True):
    """An entry of the audit trail, as it is in its file."""

    number: int
    time: str
    who: AuditWho
    verb: Annotated[str, Meta(description="the operation that was asked for, by its id in this document")]
    on: AuditOn
    allowed: bool
    rule: str
    outcome: Annotated[str, Meta(description="empty in a decision whose outcome is an entry of its own")]
    detail: dict[str, str | int | bool | None]
    trace: Annotated[str, Meta(description="the same in a decision and in its outcome")]
    previous: Annotated[str, Meta(description="the hash of the entry before")]
    hash: str
