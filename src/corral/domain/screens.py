"""What the screen of an agent says, by the rules of its profile. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.activity import PERMISSION, QUESTION, TRUST, WAITING
from corral.domain.screen_patterns import Shown, found_in

#: What a program asks in a dialog, which takes the place of its composer.
ASKING = (PERMISSION, QUESTION, TRUST)


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
    #: Regular expressions; none may be found in any line. Of one that waits and has `lines`, in any below those: what
    #: stands above is what it asks about, and whoever wrote that could hide the question with it.
    unless: tuple[str, ...] = ()
    #: A regular expression for the title that the program gave its terminal; empty: whatever it is.
    title: str = ""
    #: The keys that say yes and no to it, as tmux names them; empty if it cannot be answered by a key.
    approve: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    #: A regular expression for the choice that is a field for words: `option` is its number, and `text` what was typed
    #: there. It is looked for as `block` is, and the lowest counts; empty if there is no such choice.
    words: str = ""
    #: A regular expression for the composer of the program, looked for as `words` is; empty if nobody knows it.
    composer: str = ""


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
    shown = Shown(lines)
    for rule in rules:
        trial = _tried(rule, shown, title)
        if not trial.why_not:
            return Reading(rule=rule, line=trial.line)
    return None


def tried(rules: Sequence[Rule], lines: Sequence[str], title: str = "") -> list[Trial]:
    """How each rule fares, in order. The first that fits is the one that counts."""
    shown = Shown(lines)
    return [_tried(rule, shown, title) for rule in rules]


def _tried(rule: Rule, shown: Shown, title: str) -> Trial:
    if rule.title and not found_in(rule.title, title):
        return Trial(rule=rule, why_not=f"the title {title!r} does not match {rule.title!r}")
    first, last = "", -1
    for number, pattern in enumerate(rule.lines):
        found = shown.lowest(pattern)
        if found is None:
            return Trial(rule=rule, why_not=f"no line matches {pattern!r}")
        last = max(last, found)
        if number == 0:
            first = shown.lines[found]
    if rule.about in ASKING and rule.lines and is_above_composer(rule, shown):
        return Trial(rule=rule, why_not="the composer (draft) is below, so this is text that was said before")
    for pattern in rule.unless:
        spoils = shown.lowest(pattern)
        if spoils is not None and (rule.says != WAITING or spoils > last):
            line = shown.lines[spoils].strip()
            return Trial(rule=rule, why_not=f"the line {line!r} matches {pattern!r}, which it must not")
    if rule.block:
        # Last, because it takes the longest.
        block = shown.block(rule.block)
        if block is None:
            return Trial(rule=rule, why_not=f"the screen does not match {rule.block!r}")
        first = first or next((line for line in block.split("\n") if any(map(str.isalnum, line))), block.strip())
    return Trial(rule=rule, line=first)


def is_above_composer(rule: Rule, shown: Shown) -> bool:
    """True if a composer ends in the lowest line that the rule names, or below: then keys go into that one."""
    end = shown.lowest_end(rule.composer) if rule.composer else None
    return end is not None and end >= max((at for at in map(shown.lowest, rule.lines) if at is not None), default=0)
