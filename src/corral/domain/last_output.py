"""The end of a program's output, put together from what was recorded and what its screen shows.

tmux forgets output that it has not handed on yet when a program ends, but its screen has it. What the screen shows
beyond the record is the missing end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

#: What Corral itself writes into a record, in lines of their own. No screen shows them.
INTERRUPTED = "[corral: recording was interrupted here]"
SKIPPED = "[corral: some output is missing here]"
#: What is kept of a screen as an agent's last words.
_WORDS_LINES, _WORDS_CHARACTERS = 20, 2000


def last_words(shown: Sequence[str]) -> str:
    """The end of what is shown, short enough for a person to read in passing."""
    lines = [line.rstrip() for line in shown]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines[-_WORDS_LINES:]).strip()[-_WORDS_CHARACTERS:]


def missing_end(recorded: Sequence[str], shown: Sequence[str]) -> str:
    """What of `shown` comes after the end of `recorded`, as text; empty if nothing does.

    Blank lines do not count: screens have more of them. What Corral wrote into the record is not shown, and may stand
    in the middle of a line that is. If the two have nothing in common, as with a program that paints its screen, all
    that is shown counts as missing, unless its last line was recorded.
    """
    lines = [line.rstrip() for line in shown if line.strip()]
    known = _without_notes(recorded, joined=False)
    if not lines:
        return ""
    if not known:
        return "\n".join(lines)
    for meant in (known, _without_notes(recorded, joined=True)):
        rest = _behind(meant, lines)
        if rest is not None:
            return rest
    return "" if lines[-1] in known else "\n".join(lines)


def _without_notes(recorded: Sequence[str], *, joined: bool) -> list[str]:
    """The lines of a record without those that Corral wrote; `joined`, if those stand in the middle of lines."""
    found: list[str] = []
    after_note = False
    for line in recorded:
        text = line.rstrip()
        if not text:
            continue
        if text in (INTERRUPTED, SKIPPED):
            after_note = True
        elif joined and after_note and found:
            found[-1] += text
            after_note = False
        else:
            found.append(text)
            after_note = False
    return found


def _behind(known: Sequence[str], lines: Sequence[str]) -> str | None:
    """What of the lines is behind the known ones; None if they are not among them.

    Spaces do not count: a screen has them for tabs, and has lost those at the end of what was its last line.
    """
    black, wanted = [_black(line) for line in lines], [_black(line) for line in known]
    for end in _possible_ends(len(known), len(lines)):
        depth = min(end, len(known))
        if black[end - depth : end - 1] == wanted[len(known) - depth : -1] and black[end - 1].startswith(wanted[-1]):
            rest = [_behind_letters(lines[end - 1], len(wanted[-1])), *lines[end:]]
            return "\n".join(rest).rstrip()
    return None


def _black(line: str) -> str:
    return "".join(line.split())


def _behind_letters(line: str, count: int) -> str:
    """What is behind so many letters that are no spaces."""
    for at, letter in enumerate(line):
        if not count:
            return line[at:]
        count -= not letter.isspace()
    return ""


def _possible_ends(known: int, shown: int) -> Iterator[int]:
    """Where in the shown lines the record may end, the best first.

    All of the record is shown, and then the first such place: rather a line twice than a line lost. Or the screen
    begins within the record, and then as much of it as possible.
    """
    yield from range(known, shown + 1)
    yield from range(min(known - 1, shown), 0, -1)
