"""A question that a program asks on its screen, as far as the rules of its profile know it. Pure.

A dialog has a *key*: the same key is the same question. It has a *mark* as well, which tells the choice under the
cursor besides. Whoever answers one names its mark, and nothing is pressed if another one is there. And it tells what
is *asked*, without what can be chosen: as long as that is there, nobody has answered it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corral.domain.activity import WAITING
from corral.domain.screen_patterns import Shown
from corral.domain.screens import ASKING, Rule, is_above_composer, read

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
_BEFORE = re.compile(r"^[•●○⏺⎿✻✽✶✢✳∴·*›❯>]\s+(?![0-9]+[.)](?:\s|$))\S")
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
class Field:
    """A choice that takes words. While the cursor is there, digits are words as well."""

    number: int
    typed: str = ""
    under_cursor: bool = False


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
    #: The same as long as the same is asked, whatever the cursor and a key do to its choices.
    asked: str = ""
    #: Those that their digit chooses now.
    choices: tuple[Choice, ...] = ()
    field: Field | None = None
    #: The keys that say yes and no, as tmux names them; empty if nobody knows one.
    approve: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def takes_keys(self) -> bool:
        """False if nobody knows a key that would answer it."""
        return bool(self.choices or self.approve or self.deny or self.takes_words)

    @property
    def takes_words(self) -> bool:
        """True if there is a field for words, and nobody has begun to write there."""
        return self.field is not None and not self.field.typed


def find(rules: Sequence[Rule], lines: Sequence[str], title: str = "") -> Dialog | None:
    """The dialog that a screen shows; None if it shows none that the rules know."""
    reading = read(rules, lines, title)
    if reading is None or reading.rule.says != WAITING:
        return None
    rule = reading.rule
    whole = [line.rstrip() for line in _own_lines(rule, lines)]
    own = tuple(line[:LONGEST_LINE] for line in whole)
    choices = _choices(own)
    field = _field(rule, whole, choices)
    still = [_CURSOR.sub(" ", line).strip() for line in whole]
    key = _hash(rule, _without_field(still, choices, field))
    above = still[: min(choices)] if choices else []
    # Where a composer takes the keys, they would write there, or submit what somebody has begun to write.
    takes_keys = not is_above_composer(rule, Shown(lines))
    return Dialog(
        rule=rule.name,
        about=rule.about,
        line=(_question(own) if rule.about in ASKING else "") or _plain(reading.line)[:LONGEST_LINE] or rule.name,
        lines=own,
        key=key,
        mark=_hash(rule, whole),
        asked=_hash(rule, above) if any(any(map(str.isalnum, line)) for line in above) else key,
        choices=_pressable(choices, field) if takes_keys else (),
        field=field if takes_keys else None,
        approve=rule.approve if takes_keys else (),
        deny=rule.deny if takes_keys else (),
    )


def _hash(rule: Rule, lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join((rule.name, *lines)).encode("utf-8", "replace")).hexdigest()[:32]


def _own_lines(rule: Rule, lines: Sequence[str]) -> Sequence[str]:
    """The lines of the dialog itself: what is above it may go on moving, and is not what is answered."""
    # The lowest of each, as when it was read: what looks the same further up is over.
    shown = Shown(lines)
    named = [at for at in map(shown.lowest, rule.lines) if at is not None]
    if not named or len(named) < len(rule.lines):
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


def _choices(lines: Sequence[str]) -> dict[int, Choice]:
    """The last run of lines that are numbered from 1 on, by where they are: what is numbered above may be a text."""
    found: dict[int, Choice] = {}
    for at, line in enumerate(lines):
        match = _OPTION.match(_plain(line))
        if match is None:
            continue
        number = int(match[1])
        if number == 1:
            found = {}
        if number == len(found) + 1 <= _MOST_OPTIONS:
            found[at] = Choice(number, match[2])
    return found


def _field(rule: Rule, lines: Sequence[str], choices: Mapping[int, Choice]) -> Field | None:
    """The choice that takes words, if the rule knows how it looks and it is one of those that are there."""
    found = Shown(lines).last_groups(rule.words, "option", "text") if rule.words else None
    if found is None:
        return None
    number, typed = found
    at = next((at for at, choice in choices.items() if str(choice.number) == number), None)
    if at is None:
        return None
    return Field(number=int(number), typed=" ".join(typed.split()), under_cursor=bool(_CURSOR.search(lines[at])))


def _pressable(choices: Mapping[int, Choice], field: Field | None) -> tuple[Choice, ...]:
    if field is None:
        return tuple(choices.values())
    return () if field.under_cursor else tuple(one for one in choices.values() if one.number != field.number)


def _without_field(lines: Sequence[str], choices: Mapping[int, Choice], field: Field | None) -> Sequence[str]:
    """What stays as it is while somebody writes in the field: not the field, nor the hints below the last choice."""
    if field is None:
        return lines
    begins = next(at for at, choice in choices.items() if choice.number == field.number)
    ends = next((at for at in choices if at > begins), len(lines))
    return [*lines[:begins], *lines[ends : max(choices) + 1]]


def _question(lines: Sequence[str]) -> str:
    """The line that asks, if one does: the last one, because what is to be permitted stands above it.

    Where none ends with that, a sentence that asks may stand in a line that goes on; what can be chosen is none.
    """
    texts = [text for text in map(_plain, reversed(lines)) if _OPTION.match(text) is None]
    whole = next((text for text in texts if text.endswith("?") and len(text) > 1), "")
    return whole or next((f"{text.partition('? ')[0]}?" for text in texts if text.find("? ") > 0), "")


def _plain(line: str) -> str:
    """A line without the frame around it."""
    return line.strip(_FRAME + "\u00a0")
