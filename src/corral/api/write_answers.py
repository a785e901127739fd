"""What may be written, as the daemon tells it: as JSON, and for hooks as columns. The class is the schema as well."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from corral.api.answers import Answer
from corral.domain.timestamps import timestamp
from corral.domain.writes import NoAccess
from corral.service import writes


class RefusedWrite(Answer, frozen=True):
    """A path that must not be written, and what is in the way."""

    path: Annotated[str, Meta(description="as it was asked about; what cannot be printed in it is spelled out")]
    why: Annotated[
        str,
        Meta(
            description="held: somebody else holds it; lost: the agent's own lease on it went to somebody else; "
            "stale: a later run of the same agent holds it; access: the agent is declared to write other files only"
        ),
    ]
    holder: Annotated[str, Meta(description="who holds it, or got it: TEAM/AGENT, or a person; empty for access")]
    pattern: Annotated[str, Meta(description="of the lease; for access, all that the agent may write")]
    mode: Annotated[str, Meta(description="exclusive or shared; empty for access")]
    lease: str
    token: int
    since: Annotated[str | None, Meta(description="null for access", extra_json_schema={"format": "date-time"})]
    expires_at: Annotated[
        str | None,
        Meta(description="null if it is not held any more: it was lost to the holder, who has given it back since"),
    ]
    lost_token: Annotated[int | None, Meta(description="of the lease that the agent had; null if it had none")]


class WriteCheck(Answer, frozen=True):
    """Whether all may be written, and if not, which may not."""

    allowed: bool
    refused: list[RefusedWrite]


def check(found: Iterable[writes.Refused]) -> WriteCheck:
    """The answer as JSON."""
    refused = [_refused(one) for one in found]
    return WriteCheck(allowed=not refused, refused=refused)


def columns(answer: WriteCheck) -> Response:
    """A line for each path that is refused, columns split by tabs: what a hook reads without loading a parser."""
    rows = (
        "\t".join(
            (
                one.path,
                one.why,
                one.holder,
                _printable(one.pattern),
                one.mode,
                one.lease,
                str(one.token),
                one.since or "",
                one.expires_at or "",
                "" if one.lost_token is None else str(one.lost_token),
            )
        )
        for one in answer.refused
    )
    return Response("".join(row + "\n" for row in rows), media_type="text/tab-separated-values")


def _refused(one: writes.Refused) -> RefusedWrite:
    refusal = one.refusal
    if isinstance(refusal, NoAccess):
        return RefusedWrite(
            path=_printable(refusal.path),
            why=refusal.why,
            holder="",
            pattern=_printable(", ".join(refusal.write)),
            mode="",
            lease="",
            token=0,
            since=None,
            expires_at=None,
            lost_token=None,
        )
    lease = refusal.lease
    return RefusedWrite(
        path=_printable(refusal.path),
        why=refusal.why,
        holder=lease.claim.party.name,
        pattern=_printable(refusal.pattern.text),
        mode=lease.claim.mode,
        lease=lease.lease,
        token=lease.token,
        since=timestamp(lease.since),
        expires_at=None if one.expires_at is None else timestamp(one.expires_at),
        lost_token=refusal.lost.token if refusal.lost else None,
    )


def _printable(text: str) -> str:
    """`text` with bytes that are no UTF-8, and whatever else cannot be printed, spelled out."""
    shown = os.fsencode(text).decode("utf-8", "backslashreplace")
    return shown if shown.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)
