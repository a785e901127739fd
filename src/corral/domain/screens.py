"""What the screen of an agent says, by the rules of its profile. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
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
    #: A regular expression for what takes several lines together, `^` and `$` being the ends of lines: it must be found
    #: in the screen as a whole.
    block: str = ""
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
    #: The line that the first pattern was found in, the lowest such, or the first line of the block; empty if the title
    #: alone says it.
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How one rule fared on a screen, for whoever writes rules."""

    rule: Rule
    #: Why it does not fit; empty if it does.
    why_not: str = ""
    line: str = ""


def read(rules: Sequence[Rule], lines: Sequence[str], title: str = "") -> Reading | None:
    """What the first rule that fits says; None if none does."""
    shown = _Shown(lines)
    for rule in rules:
        trial = _tried(rule, shown, title)
        if not trial.why_not:
            return Reading(rule=rule, line=trial.line)
    return None


def tried(rules: Sequence[Rule], lines: Sequence[str], title: str = "") -> list[Trial]:
    """How each rule fares, in order. The first that fits is the one that counts."""
    shown = _Shown(lines)
    return [_tried(rule, shown, title) for rule in rules]


class _Shown:
    """A screen, as rules look at it."""

    def __init__(self, lines: Sequence[str]) -> None:
        whole = [line.rstrip() for line in lines]
        #: The lines that show anything, from below: there is what counts, and no pattern may match an empty line.
        self.lines = [line for line in reversed(whole) if line]
        self.text = "\n".join(whole)

    def line(self, pattern: str) -> str | None:
        """The lowest line that the pattern is found in."""
        search = _search(pattern)
        return next((line for line in self.lines if search(line)), None)


def _tried(rule: Rule, shown: _Shown, title: str) -> Trial:
    if rule.title and not _search(rule.title)(title):
        return Trial(rule=rule, why_not=f"the title {title!r} does not match {rule.title!r}")
    first = ""
    for number, pattern in enumerate(rule.lines):
        found = shown.line(pattern)
        if found is None:
            return Trial(rule=rule, why_not=f"no line matches {pattern!r}")
        if number == 0:
            first = found
    for pattern in rule.unless:
        spoils = shown.line(pattern)
        if spoils is not None:
            return Trial(rule=rule, why_not=f"the line {spoils.strip()!r} matches {pattern!r}, which it must not")
    if rule.block:
        # Last, because it takes the longest.
        block = _search(rule.block)(shown.text)
        if block is None:
            return Trial(rule=rule, why_not=f"the screen does not match {rule.block!r}")
        first = first or next((line for line in block[0].split("\n") if any(map(str.isalnum, line))), block[0].strip())
    return Trial(rule=rule, line=first)


@functools.lru_cache(maxsize=2048)
def _search(pattern: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(pattern, re.MULTILINE).search
