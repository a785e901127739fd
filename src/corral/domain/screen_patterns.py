"""Looking for patterns on screens: in single lines, and in what takes several lines together. Pure."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from corral.domain.bounded_patterns import compiled
from corral.domain.line_patterns import Pattern

#: More than all profiles of anybody have.
_MOST_KEPT = 2048


class Shown:
    """What a screen shows: its lines without blanks at their ends."""

    def __init__(self, lines: Sequence[str]) -> None:
        # A line feed within a line would make two of it, and every number behind it wrong.
        self.lines = [line.rstrip().replace("\n", " ") for line in lines]
        self._encoded = _encoded("\n".join(self.lines))

    def lowest(self, pattern: str) -> int | None:
        """The number of the lowest line that the pattern is found in; no empty line counts."""
        return max(self.lines_with(pattern), default=None)

    def lines_with(self, pattern: str) -> list[int]:
        """The numbers of all lines that the pattern is found in; no empty line counts."""
        return [number for number in _line_pattern(pattern).lines(self._encoded) if self.lines[number]]

    def block(self, pattern: str) -> str | None:
        """What the pattern fits, over several lines if it says so: the uppermost."""
        match = _block_pattern(pattern).search(self._encoded)
        return _decoded(match[0]) if match is not None else None

    def lowest_end(self, pattern: str) -> int | None:
        """The number of the line that the lowest place that the pattern fits ends in; None if it fits none."""
        ends = [match.end() for match in _block_pattern(pattern).finditer(self._encoded)]
        return self._encoded.count(b"\n", 0, ends[-1]) if ends else None

    def last_group(self, pattern: str, group: str) -> str | None:
        """That group of the lowest place that the pattern fits; None if it fits none."""
        found = self.last_groups(pattern, group)
        return found[0] if found is not None else None

    def last_groups(self, pattern: str, *groups: str) -> tuple[str, ...] | None:
        """The same of several groups."""
        matches = list(_block_pattern(pattern).finditer(self._encoded))
        if not matches:
            return None
        return tuple(_decoded(matches[-1][group.encode()] or b"") for group in groups)


def found_in(pattern: str, line: str) -> bool:
    """True if the pattern is in a single line, such as the title of a terminal."""
    return _line_pattern(pattern).found(_encoded(line))


def whole(pattern: str, text: str, group: str) -> str | None:
    """That group of a pattern that fits the text from end to end; None if it does not."""
    match = _block_pattern(pattern).fullmatch(_encoded(text))
    return _decoded(match[group.encode()] or b"") if match is not None else None


def check(pattern: str, *, crosses_lines: bool) -> tuple[bool, frozenset[str]]:
    """Whether it fits the empty text, and which groups it names; `NoPatternError` if it is none."""
    made = compiled(pattern, crosses_lines=crosses_lines)
    return made.search(b"") is not None, frozenset(map(_decoded, made.groupindex))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(text: bytes) -> str:
    """What was matched; a pattern may ask for a single byte (`\\C`) of a letter that has several."""
    return text.decode("utf-8", "replace")


@functools.lru_cache(maxsize=_MOST_KEPT)
def _line_pattern(text: str) -> Pattern:
    return Pattern(text, "a pattern of a profile")


@functools.lru_cache(maxsize=_MOST_KEPT)
def _block_pattern(text: str) -> Any:
    return compiled(text, crosses_lines=True)
