"""Dropping the oldest segments of the audit trail: first a signed anchor says what goes, then it goes.

A crash in between leaves segments that the anchor tells of as dropped: they are as good as before, and go the next
time. The newest closed segment stays with the one that is written, so there always is a checkpoint.
"""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from corral.adapters.audit.files import ANCHOR_FILE, CHECKPOINTS, Directory, segment_name
from corral.adapters.audit.keys import SigningKey
from corral.domain import audit, audit_checkpoints
from corral.domain.audit import GENESIS, LONGEST_LINE, Entry
from corral.domain.audit_checkpoints import ANCHOR, LONGEST_STATEMENT, Statement, signed
from corral.domain.audit_terms import AuditTerms
from corral.domain.timestamps import timestamp
from corral.failpoint import point

#: The segment that is written, and the one before it.
_ALWAYS_KEPT = 2


def drop_old(directory: Directory, key: SigningKey, terms: AuditTerms, now: float) -> None:
    """Drop segments from the oldest on, as long as there are too many bytes or they are too old."""
    starts = directory.numbers()
    going = _going(directory, starts, terms, now)
    if not going:
        return
    first_kept = _first_entry(directory, starts[going])
    if first_kept is None:
        return  # what is left begins with something that is no entry: nothing is dropped that may be evidence
    checkpoint, digest = _last_checkpoint(directory, starts[:going])
    anchor = Statement(
        kind=ANCHOR,
        checkpoint=checkpoint,
        time=timestamp(now),
        number=first_kept.number - 1,
        hash=first_kept.previous,
        previous=digest,
        key=key.id,
    )
    line, _ = signed(anchor, key.sign)
    point("audit.dropping")
    directory.put(ANCHOR_FILE, line)
    point("audit.anchored")
    for start in starts[:going]:
        directory.unlink(segment_name(start, CHECKPOINTS))
        point("audit.half_dropped")
        directory.unlink(segment_name(start))
    directory.sync()
    point("audit.dropped")


def _going(directory: Directory, starts: list[int], terms: AuditTerms, now: float) -> int:
    """How many of the oldest segments have to go."""
    total = sum(directory.size(segment_name(start)) for start in starts)
    going = 0
    for start, following in pairwise(starts[: 1 - _ALWAYS_KEPT]):
        if total <= terms.keep_size and not _is_old(directory, following, terms, now):
            break
        total -= directory.size(segment_name(start))
        going += 1
    return going


def _is_old(directory: Directory, following: int, terms: AuditTerms, now: float) -> bool:
    """True if the last entry before this segment is too old, as the first one in it tells."""
    entry = _first_entry(directory, following)
    return entry is not None and now - datetime.fromisoformat(entry.note.time).timestamp() > terms.keep_age


def _first_entry(directory: Directory, start: int) -> Entry | None:
    for line, ended in directory.lines(segment_name(start), LONGEST_LINE):
        entry = audit.read(line) if ended else ""
        return None if isinstance(entry, str) else entry
    return None


def _last_checkpoint(directory: Directory, starts: list[int]) -> tuple[int, str]:
    """Number and digest of the last checkpoint that goes; those of the last anchor if none does."""
    for start in reversed(starts):
        found: tuple[int, str] | None = None
        for line, ended in directory.lines(segment_name(start, CHECKPOINTS), LONGEST_STATEMENT):
            statement = audit_checkpoints.read(line) if ended else ""
            if not isinstance(statement, str):
                found = (statement.statement.checkpoint, statement.digest)
        if found is not None:
            return found
    before = directory.read(ANCHOR_FILE, LONGEST_STATEMENT + 1)
    anchor = audit_checkpoints.read(before.removesuffix(b"\n")) if before is not None else ""
    return (0, GENESIS) if isinstance(anchor, str) else (anchor.statement.checkpoint, anchor.statement.previous)
