"""A question that a program asks on its screen, as far as the rules of its profile know it. Pure.

A dialog has a *key*: the same key is the same question. It has a *mark* as well, which tells the choice under the
cursor besides. Whoever answers one names its mark, and nothing is pressed if another one is there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.activity import PERMISSION, QUESTION, TRUST, WAITING
from corral.domain.screens import Rule, read

#: Of a dialog, lines that are kept above the first and below the last that its rule names.
_MOST_ABOVE, _MOST_BELOW = 40, 40
#: The same above, where nothing tells where it begins.
_WITHOUT_EDGE = 6
#: Characters that are kept of a line; a terminal has fewer.
LONGEST_LINE = 400
#: Choices that a person may name. None that anybody has seen has more, and a key is one digit.
_MOST_OPTIONS = 9

#: What programs draw above a dialog: a line from side to side, or the top of a frame. Dashes divide parts of one.
_EDGE = re.compile(r"^\s*[╭┌╔]|[─━═▔▁]{10}")
#: What stands before something that was said or done before: that is not part of the dialog, and may be moving.
_BEFORE = re.compile(r"^[•●○⏺⎿✻✽✶✢✳∴·*›❯>]\s+(?![0-9]+[.)]\s)\S")
#: What a program asks for in a sentence.
_ASKING = (PERMISSION, QUESTION, TRUST)
_FRAME = " \t│┃|║"
#: What stands before the choice that Enter would take.
_CURSOR = re.compile(r"[❯›>▌●○◉◯](?=\s*[1-9][.)]\s)")
_OPTION = re.compile(r"^[❯›>▌●○◉◯*•]?\s*([1-9])[.)]\s+(\S.*)$")


@dataclass(frozen=True, slots=True)
class Choice:
    """One that the dialog numbers itself."""

    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """A question on a screen."""

    #: The rule of the profile that knows it.
    rule: str
    #: What it is about: one of `activity.ABOUT`.
    about: str
    #: What names it in one line.
    line: str
    #: All of it, as it is on the screen.
    lines: tuple[str, ...]
    #: The same for the same question, and for no other.
    key: str
    #: The same for the same question with the same choice under the cursor, and for no other.
    mark: str
    choices: tuple[Choice, ...] = ()
    #: The keys that say yes and no, as tmux names them; empty if nobody knows one.
    approve: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def takes_keys(self) -> bool:
        """False if nobody knows a key that would answer it."""
        return bool(self.choices or self.approve or self.deny)


def find(rules: Sequence[Rule], lines: Sequence[str], title: str = "") -> Dialog | None:
    """The dialog that a screen shows; None if it shows none that the rules know."""
    reading = read(rules, lines, title)
    if reading is None or reading.rule.says != WAITING:
        return None
    rule = reading.rule
    whole = [line.rstrip() for line in _own_lines(rule, lines)]
    own = tuple(line[:LONGEST_LINE] for line in whole)
    return Dialog(
        rule=rule.name,
        about=rule.about,
        line=(_question(own) if rule.about in _ASKING else "") or _plain(reading.line)[:LONGEST_LINE] or rule.name,
        lines=own,
        key=_hash(rule, [_CURSOR.sub(" ", line).strip() for line in whole]),
        mark=_hash(rule, whole),
        choices=_choices(own),
        approve=rule.approve,
        deny=rule.deny,
    )


def _hash(rule: Rule, lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join((rule.name, *lines)).encode("utf-8", "replace")).hexdigest()[:32]


def _own_lines(rule: Rule, lines: Sequence[str]) -> Sequence[str]:
    """The lines of the dialog itself: what is above it may go on moving, and is not what is answered."""
    # The lowest of each, as when it was read: what looks the same further up is over.
    named = [max((at for at, line in enumerate(lines) if re.search(words, line)), default=-1) for words in rule.lines]
    if not named or min(named) < 0:
        return _trimmed(lines)
    start = _start(lines, min(named))
    return _trimmed(lines[start : max(named) + 1 + _MOST_BELOW])


def _start(lines: Sequence[str], first: int) -> int:
    """Where a dialog begins of which the first line that is known for sure is this one."""
    for at in range(first, max(-1, first - _MOST_ABOVE - 1), -1):
        if at != first and _BEFORE.match(lines[at]):
            return at + 1
        if _EDGE.search(lines[at]) and not _is_inside(lines[at:]):
            return at
    return max(0, first - _WITHOUT_EDGE)


def _is_inside(lines: Sequence[str]) -> bool:
    """True if a line from side to side divides a dialog: what follows goes on counting choices that began above."""
    first = next((match for match in map(_OPTION.match, map(_plain, lines)) if match is not None), None)
    return first is not None and first[1] != "1"


def _trimmed(lines: Sequence[str]) -> Sequence[str]:
    """Without blank lines around."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else ()


def _choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The last run of lines that are numbered from 1 on: what is numbered above it may be a text to read."""
    found: list[Choice] = []
    for line in lines:
        match = _OPTION.match(_plain(line))
        if match is None:
            continue
        number = int(match[1])
        if number == 1:
            found = []
        if number == len(found) + 1 <= _MOST_OPTIONS:
            found.append(Choice(number, match[2]))
    return tuple(found)


def _question(lines: Sequence[str]) -> str:
    """The line that asks, if one does: the last one, because what is to be permitted stands above it."""
    return next((text for text in map(_plain, reversed(lines)) if text.endswith("?") and len(text) > 1), "")


def _plain(line: str) -> str:
    """A line without the frame around it."""
    return line.strip(_FRAME + "\u00a0")
