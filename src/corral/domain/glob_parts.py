"""One part of a path pattern: what it matches, and whether two of them can match the same name.

A part is a row of tokens, each a set of characters of which it takes one, with stars between them that take any number
of any. Two rows can match the same name if both can be gone through together. That is tried for all places of one of
them at once, in the bits of a number, so a row of stars costs no more than any other.
"""

from __future__ import annotations

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
_MOST_SETS = 32


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

    @classmethod
    def literal(cls, name: str) -> Part:
        """The part that matches this name and no other."""
        return cls(tuple(((ord(c), ord(c)),) for c in name), 0, name, name, name)


#: `*`: any name.
AnyPart = Part((), 1)


def parse_part(text: str) -> Part:
    """Read a part. Raises `ValueError`, which says what is wrong with it."""
    takes: list[tuple[_Span, ...]] = []
    stars, at, sets = 0, 0, 0
    while at < len(text):
        c = text[at]
        at += 1
        if c == "*":
            stars |= 1 << len(takes)
        elif c == "?":
            takes.append(_ANY)
        elif c == "[":
            spans, at = _set(text, at)
            takes.append(spans)
            sets += 1
        else:
            if c == "\\":
                if at == len(text):
                    raise ValueError("there is nothing behind its last backslash")
                c = text[at]
                at += 1
            takes.append(((ord(c), ord(c)),))
    if sets > _MOST_SETS:
        raise ValueError(f"a part may have {_MOST_SETS} sets in brackets, and it has {sets}")
    singles = [_single(spans) for spans in takes]
    if not stars and all(single is not None for single in singles):
        return Part.literal("".join(single or "" for single in singles))
    first_star = (stars & -stars).bit_length() - 1 if stars else len(takes)
    last_star = stars.bit_length() - 1 if stars else 0
    head = _run(singles[:first_star])
    tail = _run(singles[last_star:][::-1])[::-1]
    return Part(tuple(takes), stars, None, head, tail)


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
    if one.text is not None and other.text is not None:
        return one.text == other.text
    if not _agree(one.head, other.head) or not _agree(one.tail[::-1], other.tail[::-1]):
        return False
    return _can_match_the_same(one, other)


def _agree(one: str, other: str) -> bool:
    size = min(len(one), len(other))
    return one[:size] == other[:size]


@lru_cache(maxsize=4096)
def _can_match_the_same(one: Part, other: Part) -> bool:
    # By what the name is so far, the places of the other that can be reached: nothing, a dot, two dots, anything else.
    reached = (1, 0, 0, 0)
    for place in range(len(one.takes) + 1):
        if one.stars >> place & 1:
            reached = _through_a_star(reached, other)
        if place < len(one.takes):
            reached = _through_one_of(one.takes[place], reached, other)
            if not any(reached):
                return False
    return bool(reached[3] >> len(other.takes) & 1)


_Reached = tuple[int, int, int, int]


def _through_one_of(spans: tuple[_Span, ...], reached: _Reached, other: Part) -> _Reached:
    """The places of the other after one of these characters: behind a token that takes it, or still at a star."""
    by_dot = _takers(other, _DOT) if _share(spans, _DOT) else None
    rest = _minus_dot(spans)
    by_rest = _takers(other, rest) if rest else None

    def after(takers: int | None, places: int) -> int:
        return 0 if takers is None else (places & takers) << 1 | places & other.stars

    nothing, dot, dots, more = reached
    return (
        0,
        after(by_dot, nothing),
        after(by_dot, dot),
        after(by_rest, nothing | dot | dots | more) | after(by_dot, dots | more),
    )


def _through_a_star(reached: _Reached, other: Part) -> _Reached:
    """The places of the other after any number of any characters."""
    nothing, dot, dots, more = reached
    for _ in range(3):  # then every way to a name that is neither nothing nor dots has begun
        after = _through_one_of(_ANY, (nothing, dot, dots, more), other)
        nothing, dot, dots, more = nothing | after[0], dot | after[1], dots | after[2], more | after[3]
    if more:
        # Each token takes some character, so from the first of these places every later one is reached.
        lowest = (more & -more).bit_length() - 1
        more = (1 << len(other.takes) + 1) - 1 >> lowest << lowest
    return nothing, dot, dots, more


def _takers(part: Part, spans: tuple[_Span, ...]) -> int:
    """A bit for each token of the part that takes one of these characters."""
    found = 0
    for place, taken in enumerate(part.takes):
        if _share(taken, spans):
            found |= 1 << place
    return found


def _share(one: tuple[_Span, ...], other: tuple[_Span, ...]) -> bool:
    return any(max(a, c) <= min(b, d) for a, b in one for c, d in other)


def _minus_dot(spans: tuple[_Span, ...]) -> tuple[_Span, ...]:
    return _common(spans, _NO_DOT)
