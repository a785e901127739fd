"""One part of a path pattern: what it matches, and whether two of them can match the same name.

A part is a row of tokens, each a set of characters of which it takes one, with stars between them that take any number
of any. Two rows can match the same name if both can be gone through together. That is tried for all places of many rows
at once, in the bits of a number, so a row of stars costs no more than any other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

#: Characters from … to …, both included.
_Span = tuple[int, int]

_SLASH = ord("/")
_LAST = 0x10FFFF
#: What a name can have in it: anything but a zero and a slash.
_ANY: tuple[_Span, ...] = ((1, _SLASH - 1), (_SLASH + 1, _LAST))
_DOT: tuple[_Span, ...] = ((ord("."), ord(".")),)
_NO_DOT: tuple[_Span, ...] = ((1, ord(".") - 1), (ord(".") + 1, _LAST))


@lru_cache(maxsize=4096)
def _alone(character: str) -> tuple[_Span, ...]:
    """The set of one character; the same one for all names, which are kept by the thousand."""
    return ((ord(character), ord(character)),)


@dataclass(frozen=True, slots=True)
class Part:
    """A part, read."""

    #: The sets of characters that it takes, one after the other.
    takes: tuple[tuple[_Span, ...], ...]
    #: A bit for each place before, between and after them at which there is a star.
    stars: int
    #: The one name that it matches, if there is only one.
    text: str | None = field(default=None)
    #: What every name that it matches begins and ends with.
    head: str = ""
    tail: str = ""
    #: How many stars, sets in brackets and runs of `?` it has.
    wildcards: int = 0
    #: Two stars in a row are in it, which mean no more than one.
    doubled: bool = False

    @classmethod
    def literal(cls, name: str) -> Part:
        """The part that matches this name and no other."""
        return cls(tuple(_alone(c) for c in name), 0, name, name, name)


#: `*`: any name.
AnyPart = Part((), 1, wildcards=1)


def parse_part(text: str) -> Part:
    """Read a part. Raises `ValueError`, which says what is wrong with it."""
    takes: list[tuple[_Span, ...]] = []
    stars, at, wildcards, doubled = 0, 0, 0, False
    while at < len(text):
        c = text[at]
        at += 1
        if c == "*":
            doubled = doubled or text[at : at + 1] == "*"
            stars |= 1 << len(takes)
        elif c == "?":
            wildcards += text[at : at + 1] != "?"
            takes.append(_ANY)
        elif c == "[":
            spans, at = _set(text, at)
            takes.append(spans)
            wildcards += 1
        else:
            if c == "\\":
                if at == len(text):
                    raise ValueError("there is nothing behind its last backslash")
                c = text[at]
                at += 1
            takes.append(_alone(c))
    singles = [_single(spans) for spans in takes]
    if not stars and all(single is not None for single in singles):
        return Part.literal("".join(single or "" for single in singles))
    first_star = (stars & -stars).bit_length() - 1 if stars else len(takes)
    last_star = stars.bit_length() - 1 if stars else 0
    head = _run(singles[:first_star])
    tail = _run(singles[last_star:][::-1])[::-1]
    return Part(tuple(takes), stars, None, head, tail, stars.bit_count() + wildcards, doubled)


def _single(spans: tuple[_Span, ...]) -> str | None:
    return chr(spans[0][0]) if len(spans) == 1 and spans[0][0] == spans[0][1] else None


def _run(singles: list[str | None]) -> str:
    found = []
    for single in singles:
        if single is None:
            break
        found.append(single)
    return "".join(found)


def _set(text: str, at: int) -> tuple[tuple[_Span, ...], int]:
    """The set that begins behind a bracket, and the place behind it."""
    negated = at < len(text) and text[at] in "!^"
    at += negated
    begun = at
    spans: list[_Span] = []
    while True:
        if at >= len(text):
            raise ValueError("a bracket is not closed")
        if text[at] == "]" and at > begun:
            break
        first, at = _member(text, at)
        last = first
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("]", ""):
            last, at = _member(text, at + 1)
        if last < first:
            raise ValueError(f"{chr(first)}-{chr(last)} in its brackets is the wrong way round")
        spans.append((first, last))
    merged = _merged(spans)
    found = _without(merged) if negated else _allowed(merged)
    if not found:
        raise ValueError("a set in brackets has no character that a name can have")
    return found, at + 1


def _member(text: str, at: int) -> tuple[int, int]:
    if text[at] == "\\" and at + 1 < len(text):
        at += 1
    return ord(text[at]), at + 1


def _merged(spans: list[_Span]) -> list[_Span]:
    found: list[_Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _without(spans: list[_Span]) -> tuple[_Span, ...]:
    """All that a name can have, but for these."""
    gaps, at = [], 1
    for first, last in spans:
        if first > at:
            gaps.append((at, first - 1))
        at = max(at, last + 1)
    if at <= _LAST:
        gaps.append((at, _LAST))
    return _allowed(gaps)


def _allowed(spans: Sequence[_Span]) -> tuple[_Span, ...]:
    return _common(spans, _ANY)


def _common(one: Sequence[_Span], other: Sequence[_Span]) -> tuple[_Span, ...]:
    """What is in both."""
    return tuple((max(a, c), min(b, d)) for a, b in one for c, d in other if max(a, c) <= min(b, d))


def can_match_the_same(one: Part, other: Part) -> bool:
    """True if there is a name that both match. No file is called `.` or `..`."""
    return bool(Table([other]).matching(one, 1))


class Table:
    """Parts side by side: another part is compared with all of them at once, in as many steps as it has tokens.

    There is a bit for each place before, between and behind the tokens of each part, and a free one behind the last of
    them, so that what is added up in one part never gets into the next.
    """

    __slots__ = ("_all", "_begins", "_changes", "_ends", "_firsts", "_lasts", "_parts", "_places", "_stars", "_takers")

    def __init__(self, parts: Sequence[Part | None]) -> None:
        """`None` keeps a number free for what is no part."""
        self._parts = tuple(parts)
        #: The bit of the first place of each part, and by the bit of its last one that of its number.
        self._begins: list[int] = []
        self._ends: dict[int, int] = {}
        #: All places; the first and the last ones; those with a star; those with a token.
        self._places = self._firsts = self._lasts = self._stars = self._all = 0
        bits: dict[tuple[_Span, ...], int] = {}
        at = 0
        for number, part in enumerate(parts):
            self._begins.append(1 << at)
            if part is None:
                continue
            size = len(part.takes)
            self._ends[1 << at + size] = 1 << number
            self._firsts |= 1 << at
            self._lasts |= 1 << at + size
            self._places |= (1 << size + 1) - 1 << at
            self._stars |= part.stars << at
            self._all |= (1 << size) - 1 << at
            for place, spans in enumerate(part.takes, at):
                bits[spans] = bits.get(spans, 0) | 1 << place
            at += size + 2
        changes: dict[int, int] = {}
        for spans, places in bits.items():
            for first, last in spans:
                changes[first] = changes.get(first, 0) ^ places
                changes[last + 1] = changes.get(last + 1, 0) ^ places
        #: From which character on which tokens take it.
        self._changes = sorted({0, *changes})
        self._takers: list[int] = []
        taking = 0
        for character in self._changes:
            taking ^= changes.get(character, 0)
            self._takers.append(taking)

    def matching(self, part: Part, among: int) -> int:
        """A bit for each of these parts, by number, that can match a name which this one matches as well."""
        begins = self._firsts
        if not among & among - 1:  # most often it is one, or none, and most often its beginning or end tells
            number = among.bit_length() - 1
            other = self._parts[number] if among else None
            sure = match_at_a_glance(part, other) if other is not None else False
            if sure is not None:
                return among if sure else 0
            begins = self._begins[number]
        reached = self._behind(part, begins) & self._lasts
        found = 0
        while reached:
            last = reached & -reached
            reached ^= last
            found |= self._ends[last]
        return found & among

    def _behind(self, part: Part, begins: int) -> int:
        """The places that can be reached from these by a name that the part matches."""
        # By what the name is so far: nothing, a dot, two dots, anything else.
        reached = (begins, 0, 0, 0)
        for place in range(len(part.takes) + 1):
            if part.stars >> place & 1:
                reached = self._through_a_star(reached)
            if place < len(part.takes):
                reached = self._through_one_of(part.takes[place], reached)
                if not any(reached):
                    return 0
        return reached[3]

    def _through_one_of(self, spans: tuple[_Span, ...], reached: _Reached) -> _Reached:
        """The places after one of these characters: behind a token that takes it, or still at a star."""
        nothing, dot, dots, more = reached
        if not (nothing or dot or dots):
            return 0, 0, 0, self._after(self._taking(spans), more)
        by_dot = self._taking(_DOT) if _common(spans, _DOT) else None
        rest = _common(spans, _NO_DOT)
        by_rest = self._taking(rest) if rest else None
        return (
            0,
            self._after(by_dot, nothing),
            self._after(by_dot, dot),
            self._after(by_rest, nothing | dot | dots | more) | self._after(by_dot, dots | more),
        )

    def _through_a_star(self, reached: _Reached) -> _Reached:
        """The places after any number of any characters."""
        nothing, dot, dots, more = reached
        if nothing or dot or dots:
            for _ in range(3):  # then every way to a name that is neither nothing nor dots has begun
                after = self._through_one_of(_ANY, (nothing, dot, dots, more))
                nothing, dot, dots, more = nothing | after[0], dot | after[1], dots | after[2], more | after[3]
        # Each token takes some character, so from the first of these places in a part every later one is reached:
        # in the negative of a number all bits above its lowest one are turned round.
        negative = (self._places & ~more) + self._firsts
        return nothing, dot, dots, more | negative & self._places

    def _after(self, takers: int | None, places: int) -> int:
        return 0 if takers is None else (places & takers) << 1 | places & self._stars

    def _taking(self, spans: tuple[_Span, ...]) -> int:
        """A bit for each token that takes one of these characters."""
        if spans is _ANY:
            return self._all
        found = 0
        for first, last in spans:
            at = bisect_right(self._changes, first) - 1
            found |= self._takers[at]
            if first != last:
                for further in self._takers[at + 1 : bisect_right(self._changes, last)]:
                    found |= further
        return found


_Reached = tuple[int, int, int, int]


def match_at_a_glance(one: Part, other: Part) -> bool | None:
    """Whether both match a name, where their beginnings and ends tell; None if one has to look."""
    if one.text is not None and other.text is not None:
        return one.text == other.text
    heads_agree = one.head.startswith(other.head) or other.head.startswith(one.head)
    tails_agree = one.tail.endswith(other.tail) or other.tail.endswith(one.tail)
    return None if heads_agree and tails_agree else False
