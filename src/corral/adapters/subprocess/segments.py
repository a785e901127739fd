"""Output on disk: files in a directory, each named by the position of its first byte.

A position counts everything that was ever written. Where one file does not begin at the end of the one before, bytes
were left out, exactly as many as lie between. Readers look at names and sizes, and disturb nobody; a file may be
dropped while somebody reads. Standard library only: the host has this loaded as well.
"""

from __future__ import annotations

import bisect
import os

#: As many as a position can have in 64 bits, so that names sort as numbers do.
_DIGITS = 20


class Page:
    """Output from a position on."""

    __slots__ = ("data", "gap_at", "next", "omitted")

    def __init__(self, data: bytes, following: int, omitted: int, gap_at: int) -> None:
        self.data = data
        #: The position to go on from.
        self.next = following
        #: Bytes between the position that was asked for and `next` that are not there.
        self.omitted = omitted
        #: Where they were, as a position in `data`.
        self.gap_at = gap_at


def name(position: int) -> str:
    """The file that begins at a position."""
    return f"{position:0{_DIGITS}d}"


def read(directory: str, after: int, limit: int) -> Page:
    """At most `limit` bytes from a position on; over one gap, and never into a second."""
    parts: list[bytes] = []
    size, omitted, gap_at = 0, 0, 0
    position = after
    found = starts(directory)
    while size < limit:
        holding, following = _around(found, position)
        part = b"" if holding is None else _part(directory, holding, position, limit - size)
        if part:
            parts.append(part)
            size += len(part)
            position += len(part)
            continue
        if part is None:  # dropped while we looked
            found = starts(directory)
            continue
        if following is None:
            break
        # A list that is made while files come and go may lack one of them. They come in the order of their names: so
        # if the next list has the same two around the gap, nothing is between them.
        found = starts(directory)
        if _around(found, position) != (holding, following):
            continue
        if omitted:
            break
        omitted, gap_at, position = following - position, size, following
    return Page(b"".join(parts), position, omitted, gap_at)


def end(directory: str) -> int:
    """The position after the last byte."""
    while found := starts(directory):
        try:
            return found[-1] + os.stat(f"{directory}/{name(found[-1])}").st_size
        except FileNotFoundError:
            continue  # dropped while we looked: there is a later one
    return 0


def starts(directory: str) -> list[int]:
    """Where the files begin, in order; none if the directory is not there."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted(int(entry) for entry in names if len(entry) == _DIGITS and entry.isdigit())


def sizes(directory: str) -> list[tuple[int, int]]:
    """Start and size of each file, in order. For the one who writes them: nobody else may drop one meanwhile."""
    return [(start, os.stat(f"{directory}/{name(start)}").st_size) for start in starts(directory)]


def _around(found: list[int], position: int) -> tuple[int | None, int | None]:
    """Of the files that begin there, the last one up to a position and the first one after it."""
    at = bisect.bisect_right(found, position)
    return (found[at - 1] if at else None), (found[at] if at < len(found) else None)


def _part(directory: str, start: int, position: int, limit: int) -> bytes | None:
    """What a file has from a position on; None if the file is not there any more."""
    try:
        descriptor = os.open(f"{directory}/{name(start)}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.pread(descriptor, limit, position - start)
    finally:
        os.close(descriptor)
