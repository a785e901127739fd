"""The end of a program's output, put together from what was recorded and what its screen shows.

tmux forgets output that it has not handed on yet when a program ends, but its screen has it. What the screen shows
beyond the record is the missing end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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

    Blank lines do not count: screens have more of them. If the two have nothing in common, as with a program that
    paints its screen, all that is shown counts as missing, unless its last line was recorded.
    """
    known = [line.rstrip() for line in recorded if line.strip()]
    lines = [line.rstrip() for line in shown if line.strip()]
    if not lines:
        return ""
    if not known:
        return "\n".join(lines)
    for end in _possible_ends(len(known), len(lines)):
        depth = min(end, len(known))
        if lines[end - depth : end - 1] == known[len(known) - depth : -1] and lines[end - 1].startswith(known[-1]):
            rest = [lines[end - 1][len(known[-1]) :], *lines[end:]]
            return "\n".join(rest).rstrip()
    return "" if lines[-1] in known else "\n".join(lines)


def _possible_ends(known: int, shown: int) -> Iterator[int]:
    """Where in the shown lines the record may end, the best first.

    All of the record is shown, and then the first such place: rather a line twice than a line lost. Or the screen
    begins within the record, and then as much of it as possible.
    """
    yield from range(known, shown + 1)
    yield from range(min(known - 1, shown), 0, -1)
