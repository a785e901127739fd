"""Patterns for screens that cannot fit as they are meant: found by their text, and only where it is certain. Pure.

Screens are looked at without the blanks at the ends of their lines, which a composer with nothing in it ends with.
"""

from __future__ import annotations

import re

from corral.domain.bounded_patterns import NoPatternError
from corral.domain.screen_patterns import check

NO_BLANKS = "blanks at the ends of lines are not looked at"

#: A blank that must be there, and then the end of a line.
_BLANK_END = re.compile(r"(?:[ \t]|(?<!\\)(?:\\\\)*\\[st])\+?(?:\$|\\z)\Z")
#: What makes that a part of a pattern need not be there.
_OPTIONAL = re.compile(r"[?*]|\{0?,")


def wants_a_blank_at_the_end(pattern: str) -> bool:
    """True if it fits only where a line ends with a blank, which is nowhere."""
    return "|" not in pattern and _BLANK_END.search(pattern) is not None


def ends_in_a_blank(pattern: str) -> bool:
    """True if a blank stands at its end, or right before the end of a line: that may not be what is on the screen."""
    return pattern.endswith(" ") or _BLANK_END.search(pattern) is not None


def fits_without(pattern: str, group: str) -> bool:
    """False if it is certain that the pattern fits only where there is something for that group of it."""
    place = _place_of(pattern, group)
    if place is None:
        return True
    begin, start, end = place
    outside = f"{pattern[:begin]}{pattern[end + 1 :]}"
    if "|" in outside or _OPTIONAL.match(pattern, end + 1):
        return True
    try:
        may_be_empty = check(pattern[start:end], crosses_lines=True)[0]
    except NoPatternError:
        return True
    return may_be_empty and not wants_a_blank_at_the_end(outside)


def _place_of(pattern: str, group: str) -> tuple[int, int, int] | None:
    """Where a group that is within no other begins, what is in it starts, and where it ends."""
    opening = re.compile(rf"\(\?P?<{re.escape(group)}>")
    at, depth, found = 0, 0, None
    #: Within brackets: where the first sign is that they hold. A closing bracket there is one of those meant.
    held: int | None = None
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif held is not None:
            held = None if sign == "]" and at > held else held
        elif sign == "[":
            held = at + 2 if pattern.startswith("^", at + 1) else at + 1
        elif sign == "(":
            if depth == 0 and found is None and (opened := opening.match(pattern, at)) is not None:
                found = (at, opened.end())
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth == 0 and found is not None:
                return (*found, at)
        at += 1
    return None
