"""Finding what was done to a numbered chain of lines: edited, removed, reordered, repeated, inserted. Pure.

Entries of the audit trail are such a chain, and its checkpoints are. A line is handed over as it is found in its file;
each flaw says where: in which file, on which line, and about which number.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

# What can be wrong.
EDITED = "edited"
REMOVED = "removed"
REORDERED = "reordered"
REPEATED = "repeated"
REPLACED = "replaced"
INSERTED = "inserted"
CUT_OFF = "cut_off"
TORN = "torn"
FORGED = "forged"

#: More than anybody reads. The rest is counted.
MOST_FLAWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """Something that is wrong, and where."""

    what: str
    file: str
    line: int
    number: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What a line says about its place in the chain."""

    number: int
    previous: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """A line that is no link, and could be what is left of a write that a crash tore."""

    place: Place
    sha256: str
    bytes: int
    flaw: Flaw


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bad:
    place: Place
    sha256: str
    bytes: int
    why: str
    is_torn: bool


class Sequence:
    """One chain, handed over line by line."""

    def __init__(self, noun: str, number: int, previous: str | None) -> None:
        self._noun = noun
        #: What the next link should be, and the digest that it should name; None if that cannot be known.
        self.next = number
        self._previous = previous
        self.flaws: list[Flaw] = []
        self.left_out = 0
        #: Lines that are no links, to be forgiven if the trail itself tells of them.
        self.odd: list[Odd] = []
        #: Numbers that should have been before where we are, by the place where they were missed.
        self._missing: list[tuple[range, Place]] = []
        #: Lines that are no links since the last one that is.
        self._bad: list[_Bad] = []
        self._bad_left_out = 0
        #: Where the last line was.
        self.last: Place | None = None

    def no_link(self, place: Place, line: bytes, why: str, what: str = EDITED) -> None:
        """A line that is no link of the chain, for the reason `why`."""
        self.last = place
        if len(self._bad) >= MOST_FLAWS:
            self._bad_left_out += 1
            return
        digest = hashlib.sha256(line).hexdigest()
        self._bad.append(_Bad(place=place, sha256=digest, bytes=len(line), why=why, is_torn=what == TORN))

    def link(self, place: Place, link: Link) -> bool:
        """A line that is a link. True if it is in its place."""
        if self._bad:
            # As many as are missing were links before they were edited; the others never were.
            self._settle(max(0, link.number - self.next))
        self.last = place
        if link.number < self.next:
            self._out_of_place(place, link)
            return False
        if link.number > self.next:
            self._miss(range(self.next, link.number), place)
        elif self._previous is not None and link.previous != self._previous:
            before = link.number - 1
            self.flaw(
                REPLACED,
                place,
                link.number,
                f"{place}: {self._noun} {link.number} does not follow the {self._noun} {before} that is there: "
                "one of the two was replaced",
            )
        self.next = link.number + 1
        self._previous = link.digest
        return True

    def go_on_behind(self, number: int, digest: str) -> None:
        """What is left up to `number` is not handed over any more, and misses nothing: the next link follows that."""
        if number >= self.next:
            self._settle(number + 1 - self.next)
            self.next, self._previous = number + 1, digest

    def flaw(self, what: str, place: Place, number: int, message: str) -> None:
        """Take a flaw down, unless there are too many already."""
        self._add(Flaw(what=what, file=place.file, line=place.line, number=number, message=message))

    def end(self) -> None:
        """That was all: what was missed and did not come is removed."""
        self._settle(len(self._bad))
        for missing, place in self._missing:
            which = f"{self._noun} {missing[0]} is"
            if len(missing) > 1:
                several = "entries" if self._noun == "entry" else f"{self._noun}s"
                which = f"{several} {missing[0]} to {missing[-1]} are"
            self.flaw(REMOVED, place, missing[0], f"{place}: {which} missing before this line")
        self._missing.clear()

    def _miss(self, numbers: range, place: Place) -> None:
        if len(self._missing) >= MOST_FLAWS:
            self.left_out += 1
        else:
            self._missing.append((numbers, place))

    def _out_of_place(self, place: Place, link: Link) -> None:
        for at, (missing, where) in enumerate(self._missing):
            if link.number in missing:
                parts = (range(missing.start, link.number), range(link.number + 1, missing.stop))
                self._missing[at : at + 1] = [(part, where) for part in parts if part]
                message = f"{place}: {self._noun} {link.number} is not in its place: it belongs before {where}"
                self.flaw(REORDERED, place, link.number, message)
                return
        message = f"{place}: {self._noun} {link.number} is there a second time"
        self.flaw(REPEATED, place, link.number, message)

    def _settle(self, edited: int) -> None:
        """Decide about the lines before, which are no links: so many at most were edited, the others put in."""
        bad, self._bad = self._bad, []
        self.left_out += self._bad_left_out
        self._bad_left_out = 0
        for one in bad:
            place = one.place
            if one.is_torn:  # it never became a link
                what, message = TORN, f"{self._noun} {self.next} is not whole: {one.why}"
            elif edited:
                what, message = EDITED, f"{self._noun} {self.next} was edited: {one.why}"
            else:
                what, message = INSERTED, f"this line is no {self._noun}, and was put in"
            flaw = Flaw(what=what, file=place.file, line=place.line, number=self.next, message=f"{place}: {message}")
            self._note_odd(Odd(place=place, sha256=one.sha256, bytes=one.bytes, flaw=flaw))
            if what == EDITED:
                edited -= 1
                self.next += 1
                self._previous = None

    def _note_odd(self, odd: Odd) -> None:
        if len(self.odd) >= MOST_FLAWS:
            self.left_out += 1
        else:
            self.odd.append(odd)

    def _add(self, flaw: Flaw) -> None:
        if len(self.flaws) >= MOST_FLAWS:
            self.left_out += 1
        else:
            self.flaws.append(flaw)
