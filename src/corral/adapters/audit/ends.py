"""How the files of an audit trail end, when somebody comes to append to them: where the chain goes on, and what a crash
left behind.

A crash in the middle of a write leaves a line without an end. It is not removed: it is given an end, with a mark, and
an entry tells of it (`audit.RECOVERED`), with length and SHA-256. A whole line that is no entry is nothing that a crash
leaves: somebody did that, and nothing is appended to such a trail.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from corral.adapters.audit.files import ANCHOR_FILE, CHECKPOINTS, Directory, segment_name, write_all
from corral.domain import audit, audit_checkpoints
from corral.domain.audit import GENESIS, LONGEST_LINE, Entry
from corral.domain.audit_checkpoints import ANCHOR, Signed
from corral.domain.errors import RefusedError
from corral.failpoint import point

#: What a line gets that a crash left without an end.
MARK = b" <torn>"
#: How much of the end of a file is looked at: the last line, and what several crashes can leave after it.
_TAIL = 16 * LONGEST_LINE

_T = TypeVar("_T", Entry, Signed)


def elsewhere(path: str, first: str = "") -> str:
    """What to do with the trail at `path`, which was meddled with; `first` is what comes before that."""
    return (
        f"corral audit verify says more. {first}Keep the directory as it is, in another place: mv {path} {path}.kept. "
        "A new trail begins with the next start"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Torn:
    """What is left of a write that a crash tore: a line of a file, its end marked."""

    file: str
    line: int
    bytes: int
    sha256: str

    def as_detail(self) -> dict[str, object]:
        """The facts of the entry that tells of it."""
        return {"file": self.file, "line": self.line, "bytes": self.bytes, "sha256": self.sha256}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where a trail goes on."""

    #: The first number of the segment to append to; None if there is no segment.
    segment: int | None
    #: The time of its first entry; empty if it has none.
    begun: str
    #: False if not one entry is there, whatever others vouch for.
    has_entries: bool
    number: int
    hash: str
    #: The last checkpoint, and its digest.
    checkpoint: int
    digest: str
    #: The entry that it vouches for.
    signed: int
    torn: list[Torn]


def find(directory: Directory) -> Ends:
    """Look at the ends of all files, and mark what is torn. `RefusedError` if the trail was meddled with."""
    torn: list[Torn] = []
    unended: list[str] = []
    anchor = _anchor(directory)
    numbers = directory.numbers()
    last: Entry | None = None
    for start in reversed(numbers):
        last = _end_of(directory, segment_name(start), audit.read, torn, unended)
        if last is not None:
            break
    newest: Signed | None = None
    signed = directory.numbers(CHECKPOINTS)
    if numbers and numbers[-1] not in signed and directory.size(segment_name(numbers[-1])):
        # It is made before the first entry: no crash leaves a file of entries without it.
        raise RefusedError(f"{directory.path_of(numbers[-1], CHECKPOINTS)} was removed", elsewhere(directory.path))
    for start in reversed(signed):
        newest = _end_of(directory, segment_name(start, CHECKPOINTS), audit_checkpoints.read, torn, unended)
        if newest is not None:
            break
    number, digest = (last.number, last.hash) if last is not None else (0, GENESIS)
    if last is None and anchor is not None:
        number, digest = anchor.statement.number, anchor.statement.hash
    for vouched in (newest, anchor):
        if vouched is not None:
            _refuse_if_cut(directory, number, digest, vouched)
    for name in unended:
        _mend(directory, name)
    chain = newest or anchor
    return Ends(
        segment=numbers[-1] if numbers else None,
        begun=_begun(directory, numbers[-1]) if numbers else "",
        has_entries=last is not None,
        number=number,
        hash=digest,
        checkpoint=chain.statement.checkpoint if chain is not None else 0,
        digest=newest.digest if newest is not None else anchor.statement.previous if anchor is not None else GENESIS,
        signed=chain.statement.number if chain is not None else 0,
        torn=torn,
    )


def _mend(directory: Directory, name: str) -> None:
    """Give the last line of a file an end."""
    handle = directory.append_to(name, new=False)
    try:
        point("audit.mending")
        write_all(handle, MARK + b"\n")
        os.fsync(handle)
        point("audit.mended")
    finally:
        os.close(handle)


def _end_of(
    directory: Directory, name: str, read: Callable[[bytes], _T | str], torn: list[Torn], unended: list[str]
) -> _T | None:
    """The last entry or checkpoint of a file; None if there is none in it.

    What is torn is added to `torn`, as it will be once it has its end; the file to `unended`, if it has none yet.
    """
    reading = directory.open(name)
    if reading is None:
        return None
    with open(reading, "rb") as file:
        size = os.fstat(reading).st_size
        start = max(0, size - _TAIL)
        file.seek(start)
        tail = file.read()
        if tail and not tail.endswith(b"\n"):
            unended.append(name)
            tail += MARK + b"\n"  # as it will be
        end = len(tail)
        while end:
            begin = tail.rfind(b"\n", 0, end - 1) + 1
            line = tail[begin : end - 1]
            found = read(line)
            if not isinstance(found, str):
                return found
            if not line.endswith(MARK):
                at = _lines_before(file, start + begin)
                raise RefusedError(
                    f"{os.path.join(directory.path, name)}:{at + 1} is no line that this trail has written: {found}",
                    elsewhere(directory.path),
                )
            torn.append(_torn(name, line, _lines_before(file, start + begin)))
            end = begin
    if start:
        raise RefusedError(
            f"{os.path.join(directory.path, name)} ends in {_TAIL} bytes that are no lines of this trail",
            elsewhere(directory.path),
        )
    return None


def _begun(directory: Directory, start: int) -> str:
    for line, ended in directory.lines(segment_name(start), LONGEST_LINE):
        first = audit.read(line) if ended else ""
        return "" if isinstance(first, str) else first.note.time
    return ""


def _anchor(directory: Directory) -> Signed | None:
    data = directory.read(ANCHOR_FILE, audit_checkpoints.LONGEST_STATEMENT + 1)
    if data is None:
        return None
    anchor = audit_checkpoints.read(data.removesuffix(b"\n"))
    if isinstance(anchor, str) or anchor.statement.kind != ANCHOR:
        raise RefusedError(
            f"{os.path.join(directory.path, ANCHOR_FILE)} is no anchor that this trail has written",
            elsewhere(directory.path),
        )
    return anchor


def is_cut(number: int, digest: str, vouched: Signed) -> str:
    """In words what was done to a trail that ends so, if a statement vouches for more, or for another end; else
    empty."""
    signed = vouched.statement
    if number > signed.number or (number == signed.number and digest == signed.hash):
        return ""
    return f"entries after {number} were cut off" if number < signed.number else f"entry {number} was replaced"


def _refuse_if_cut(directory: Directory, number: int, digest: str, vouched: Signed) -> None:
    if what := is_cut(number, digest, vouched):
        signed = vouched.statement
        raise RefusedError(
            f"{directory.path}: {what}: {signed.kind} {signed.checkpoint} vouches for entry {signed.number}",
            elsewhere(directory.path),
        )


def _torn(name: str, line: bytes, before: int) -> Torn:
    return Torn(file=name, line=before + 1, bytes=len(line), sha256=hashlib.sha256(line).hexdigest())


def _lines_before(file: BinaryIO, offset: int) -> int:
    file.seek(0)
    count = 0
    while offset > 0 and (piece := file.read(min(offset, 1 << 20))):
        count += piece.count(b"\n")
        offset -= len(piece)
    return count
