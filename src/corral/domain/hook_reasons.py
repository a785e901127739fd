"""Why a file was not written, for the model that wanted to: what is the matter, and what it can do now. Pure."""

from __future__ import annotations

import shlex

from corral.domain.access import shown_write
from corral.domain.file_notes import BEING_WRITTEN, GONE, UNSEEN, Objection
from corral.domain.message_commands import send_command
from corral.domain.timestamps import timestamp
from corral.domain.told_names import told_pattern
from corral.domain.writes import STALE, NoAccess, Refusal


def held(path: str, refusal: Refusal, expires_at: float | None) -> str:
    """Somebody holds it, until a unix time at least; or, without one, got it when the writer lost it, and is done."""
    # The pattern is in the words of whoever holds it, and those must not look like ours.
    lease, pattern, shown = refusal.lease, told_pattern(refusal.pattern.text), told_pattern(path)
    holder = lease.claim.party.name
    if refusal.why == STALE:
        return (
            f"{shown} was not written: a later run of {holder} holds {pattern}, and this process is left over from an "
            "earlier one. Stop working: what you would write is out of date."
        )
    lost = refusal.lost
    if expires_at is None:
        had = f" (token {lost.token})" if lost else ""
        return (
            f"{shown} was not written: the lease on it that you had{had} is lost: {holder} got {pattern} at "
            f"{timestamp(lease.since)}, and does not hold it any more. Read it again, and see what has changed there "
            f"meanwhile; then acquire it again with `corral lease acquire {shlex.quote(pattern)}`."
        )
    mine = f" Your own lease on it (token {lost.token}) is lost: do not go on as if you had it." if lost else ""
    return (
        f"{shown} was not written: {holder} holds {pattern} ({lease.claim.mode}) since {timestamp(lease.since)}, until "
        f"{timestamp(expires_at)} or longer.{mine} Do not change it in another way. Work on something else, wait until "
        f"it is free with `corral lease wait --literal {shlex.quote(path)} --wait 10m`, or ask {holder} to release it "
        f"with `{send_command(holder)}`."
    )


def no_access(path: str, refusal: NoAccess) -> str:
    """The agent is declared to write other files."""
    return (
        f"{told_pattern(path)} was not written: you may write {shown_write(refusal.write)}, as the person who set you "
        "up declared. Do not write it in another way: a commit with it is refused. If your work needs it, say so to "
        "that person."
    )


def objected(path: str, party: str, objection: Objection, *, once: bool) -> str:
    """It is not what the session knows. `once`: the same change will not be objected to again."""
    by = "you, in another conversation," if objection.by == party else objection.by
    path, when = told_pattern(path), timestamp(objection.time)
    if objection.why == BEING_WRITTEN:
        return f"{path} was not written: {by} is writing it at this moment. Read it again, then try again."
    if objection.why == GONE:
        return (
            f"{path} was not written: it was removed or renamed since you read or wrote it last. Find out why; if it "
            "shall be there again, write it once more: that will not be refused."
        )
    if objection.why == UNSEEN:
        what = f"{by} wrote it at {when}, and you have not read it"
    elif by:
        what = f"it has changed since you read or wrote it last: {by} wrote it at {when}"
    else:
        what = f"it has changed since you read or wrote it last, at {when}"
    again = " That will not be refused for this change any more." if once else ""
    return f"{path} was not written: {what}. Read it again, and make your change to what it is now.{again}"
