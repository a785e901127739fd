"""What the screen of an agent says, by the rules of its profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """If its patterns are found, the agent does what it says."""

    #: Names it within the profile.
    name: str
    #: One of `working`, `waiting` and `idle`.
    says: str
    #: What it waits for, if it does: one of `activity.ABOUT`.
    about: str = ""
    #: Regular expressions; each must be found in some line of the screen.
    lines: tuple[str, ...] = ()
    #: Regular expressions; none may be found in any line.
    unless: tuple[str, ...] = ()
    #: A regular expression for the title that the program gave its terminal; empty: whatever it is.
    title: str = ""
    #: The keys that say yes and no to it, as tmux names them; empty if it cannot be answered by a key.
    approve: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a screen says."""

    rule: Rule
    #: The line that the first pattern was found in; empty if the title alone says it.
    line: str = ""


def read(rules: Sequence[Rule], lines: Sequence[str], title: str = "") -> Reading | None:
    """What the first rule that fits says; None if none does."""
    for rule in rules:
        reading = _fits(rule, lines, title)
        if reading is not None:
            return reading
    return None


def _fits(rule: Rule, lines: Sequence[str], title: str) -> Reading | None:
    if rule.title and not re.search(rule.title, title):
        return None
    first = ""
    for number, pattern in enumerate(rule.lines):
        found = next((line for line in lines if re.search(pattern, line)), None)
        if found is None:
            return None
        if number == 0:
            first = found
    if any(re.search(pattern, line) for pattern in rule.unless for line in lines):
        return None
    return Reading(rule=rule, line=first)
