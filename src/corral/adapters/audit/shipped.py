"""Checkpoints that were shipped to a directory before, and whether the trail is still the one that they vouch for.

Asked before a trail is gone on with: one that was put back to an earlier state has all it needs in itself, and only
what was kept elsewhere tells of it.
"""

from __future__ import annotations

import logging
import os

from corral.adapters.audit.ends import Ends, is_cut
from corral.adapters.audit.files import CHECKPOINTS, Directory, segment_name
from corral.adapters.audit.keys import SigningKey
from corral.domain import audit_checkpoints
from corral.domain.audit_checkpoints import LONGEST_STATEMENT, Signed
from corral.domain.errors import BrokenTrailError

log = logging.getLogger("corral.audit")

_NAME = ("checkpoint-", ".json")
_DIGITS = 20
#: So many are looked at to find one of this trail, from the newest on.
_MOST = 1000


def name_of(number: int) -> str:
    """The file that a checkpoint is shipped as. Names sort as numbers do."""
    return f"{_NAME[0]}{number:0{_DIGITS}d}{_NAME[1]}"


def refuse_if_put_back(directory: Directory, end: Ends, key: SigningKey, shipped: str) -> None:
    """Raise if the newest checkpoint that this key signed, in the directory `shipped`, vouches for another trail than
    the one that ends so.

    What is there and is none of this key is told in the log: it can be of an earlier trail, and anybody could have put
    it there. What cannot be read is told as well, and holds nothing up.
    """
    try:
        newest = _newest(shipped, key)
    except OSError as error:
        log.warning("the audit trail could not be compared with the checkpoints in %s: %s", shipped, error.strerror)
        return
    if newest is None:
        return
    path, signed = newest
    what = is_cut(end.number, end.hash, signed)
    if not what and not _is_in(directory, signed):
        what = f"checkpoint {signed.statement.checkpoint} of it was replaced, or is gone"
    if what:
        raise BrokenTrailError(
            f"{directory.path}: {what}: {path} vouches for entry {signed.statement.number}",
            f"corral audit verify says more. Keep the directory, and {shipped}, as they are, elsewhere; a new trail "
            "begins with the next start",
        )


def _newest(shipped: str, key: SigningKey) -> tuple[str, Signed] | None:
    newest, strange = None, 0
    for path in _paths(shipped):
        with open(path, "rb") as file:
            signed = audit_checkpoints.read(file.read(LONGEST_STATEMENT + 2).removesuffix(b"\n"))
        if not isinstance(signed, str) and key.has_signed(signed) and _is_named(path, signed):
            newest = (path, signed)
            break
        strange += 1
    if strange:
        log.critical(
            "the newest checkpoints in %s (%d) are none of this audit trail: it was begun anew, or somebody put them "
            "there. corral audit verify says more; keep them as they are, elsewhere",
            shipped,
            strange,
        )
    return newest


def _is_named(path: str, signed: Signed) -> bool:
    """True if it is the file of its number: an old one under a new name would hide those in between."""
    return os.path.basename(path) == name_of(signed.statement.checkpoint)


def _paths(shipped: str) -> list[str]:
    """The files of the newest checkpoints, the newest first."""
    names = [name for name in os.listdir(shipped) if name.startswith(_NAME[0]) and name.endswith(_NAME[1])]
    return [os.path.join(shipped, name) for name in sorted(names, reverse=True)[:_MOST]]


def _is_in(directory: Directory, signed: Signed) -> bool:
    """True if the trail has this checkpoint, or has dropped the files of that time."""
    starts = [start for start in directory.numbers(CHECKPOINTS) if start <= signed.statement.number]
    if not starts:
        return True
    lines = directory.lines(segment_name(starts[-1], CHECKPOINTS), LONGEST_STATEMENT)
    found = (audit_checkpoints.read(line) for line, _ in lines)
    return any(not isinstance(one, str) and one.digest == signed.digest for one in found)
