"""Output of a process on its way to a reader: cursors, gaps and characters.

A cursor is a position in everything that a process ever wrote. Read in pages of whatever size, the pages together are
what was written: no byte is lost and none comes twice. Where bytes were not kept, a line says how many. Text is never
cut within a character; what is no UTF-8 comes as base64.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field

#: Encodings of what a reader gets: text as it is, or base64 where the bytes are no UTF-8.
TEXT, BASE64 = "", "base64"
#: No character is longer: a page of so many bytes always has one in it that is whole, or bytes that are none.
LONGEST_CHARACTER = 4


def gap_line(omitted: int) -> str:
    """What stands in the place of bytes that were left out."""
    return f"\n[… {omitted} bytes left out …]\n"


@dataclass(slots=True)
class Stretch:
    """What is there of the output between two cursors: pieces in order, with gaps where nothing was kept."""

    start: int
    #: The cursor behind it.
    next: int = -1
    #: Each with its position; two pieces that touch are one.
    pieces: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.next = max(self.next, self.start)

    @property
    def size(self) -> int:
        """How many bytes are there."""
        return sum(len(data) for _, data in self.pieces)

    @property
    def omitted(self) -> int:
        """How many are not."""
        return self.next - self.start - self.size

    def add(self, position: int, data: bytes) -> None:
        """What was written at `position`, which is behind everything so far."""
        if not data:
            return
        if self.pieces and position == self.next:
            before, joined = self.pieces.pop()
            self.pieces.append((before, joined + data))
        else:
            self.pieces.append((position, data))
        self.next = position + len(data)

    def add_page(self, data: bytes, *, next_cursor: int, omitted: int, gap_at: int) -> None:
        """A page that was read from `next` on; it may go over one gap."""
        for position, piece in page_pieces(self.next, data, omitted=omitted, gap_at=gap_at):
            self.add(position, piece)
        self.next = next_cursor

    def until(self, cursor: int) -> Stretch:
        """The part of it before `cursor`."""
        kept = [(position, data[: cursor - position]) for position, data in self.pieces if position < cursor]
        return Stretch(self.start, min(self.next, cursor), kept)

    def since(self, cursor: int) -> Stretch:
        """The part of it from `cursor` on, which is in no gap."""
        kept = [(max(position, cursor), data[max(0, cursor - position) :]) for position, data in self.pieces]
        return Stretch(cursor, self.next, [(position, data) for position, data in kept if data])

    def first(self, count: int) -> Stretch:
        """Its first `count` bytes, not counting what is in gaps."""
        short = Stretch(self.start)
        for position, data in self.pieces:
            short.add(position, data[: count - short.size])
        return short

    def squeezed(self, count: int) -> Stretch:
        """Its first and its last bytes, at most `count` of them together, with what is between them left out."""
        if self.size <= count:
            return self
        head = self.first(count // 2)
        room, tail = count - head.size, Stretch(self.next)
        for position, data in reversed(self.pieces):
            taken = data[max(len(data) - room, 0) :] if room else b""
            if taken:
                tail.pieces.insert(0, (position + len(data) - len(taken), taken))
                tail.start = position + len(data) - len(taken)
                room -= len(taken)
        return head.followed_by(tail)

    def followed_by(self, later: Stretch) -> Stretch:
        """Both, with what is between them left out."""
        return Stretch(self.start, later.next, [*self.pieces, *later.pieces])


def page_pieces(cursor: int, data: bytes, *, omitted: int, gap_at: int) -> list[tuple[int, bytes]]:
    """The pieces of a page from `cursor` on, each with its position: one, or one on each side of a gap."""
    if not omitted:
        return [(cursor, data)]
    return [(cursor, data[:gap_at]), (cursor + gap_at + omitted, data[gap_at:])]


@dataclass(frozen=True, slots=True)
class Shown:
    """Output as a reader gets it."""

    output: str
    encoding: str
    #: The cursor behind what is shown.
    next: int
    #: Bytes before it that are not shown, because they were not kept or because there was no room.
    omitted: int


def as_text(stretch: Stretch, *, more: bool) -> Shown:
    """The stretch as text, or as base64 if it is none.

    If `more` can come, the beginning of a character at the end is left for the next page. A character that a gap goes
    through belongs to the gap.
    """
    if more and stretch.pieces and (held := _unfinished(stretch.pieces[-1][1])) and _reaches_its_end(stretch):
        stretch = stretch.until(stretch.next - held)
    whole = _without_cut_characters(stretch)
    try:
        output = "".join(data.decode() if isinstance(data, bytes) else gap_line(data) for data in _data_and_gaps(whole))
    except UnicodeDecodeError:
        return as_base64(stretch)
    return Shown(output, TEXT, whole.next, whole.omitted)


def as_base64(stretch: Stretch) -> Shown:
    """The bytes as they are, in base64, with the lines that stand for gaps."""
    raw = b"".join(data if isinstance(data, bytes) else gap_line(data).encode() for data in _data_and_gaps(stretch))
    return Shown(b64encode(raw).decode("ascii"), BASE64, stretch.next, stretch.omitted)


def lines_as_text(lines: list[bytes], *, next_cursor: int, omitted: int, encoding: str = TEXT) -> Shown:
    """Some lines of the output as a reader gets them."""
    raw = b"".join(lines)
    if encoding == TEXT:
        try:
            return Shown(raw.decode(), TEXT, next_cursor, omitted)
        except UnicodeDecodeError:
            encoding = BASE64
    return Shown(b64encode(raw).decode("ascii"), encoding, next_cursor, omitted)


def _data_and_gaps(stretch: Stretch) -> list[bytes | int]:
    """Its bytes in order, and where some are missing, how many."""
    parts: list[bytes | int] = []
    cursor = stretch.start
    for position, data in [*stretch.pieces, (stretch.next, b"")]:
        if position > cursor:
            parts.append(position - cursor)
        parts.append(data)
        cursor = position + len(data)
    return parts


def _reaches_its_end(stretch: Stretch) -> bool:
    position, data = stretch.pieces[-1]
    return position + len(data) == stretch.next


def _without_cut_characters(stretch: Stretch) -> Stretch:
    """The stretch without what is left of characters at the edges of gaps."""
    if not stretch.omitted:
        return stretch
    whole = Stretch(stretch.start)
    cursor = stretch.start
    for at, (position, data) in enumerate(stretch.pieces):
        behind = stretch.pieces[at + 1][0] if at + 1 < len(stretch.pieces) else stretch.next
        end = position + len(data)
        if position > cursor:
            lost = _continuation(data)
            position, data = position + lost, data[lost:]
        if end < behind and (cut := _unfinished(data)):
            data = data[:-cut]
        whole.add(position, data)
        cursor = end
    whole.next = stretch.next
    return whole


def _continuation(data: bytes) -> int:
    """How many bytes at the beginning are the end of a character."""
    count = 0
    while count < min(len(data), LONGEST_CHARACTER - 1) and data[count] & 0xC0 == 0x80:
        count += 1
    return count


def _unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    for size in range(1, min(len(data), LONGEST_CHARACTER - 1) + 1):
        if data[-size] & 0xC0 == 0x80:
            continue
        try:
            data[-size:].decode()
        except UnicodeDecodeError as error:
            return size if error.reason == "unexpected end of data" else 0
        return 0
    return 0
