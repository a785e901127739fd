"""Patterns over lines of output, by RE2: whatever somebody asks for, a search takes no longer than the text is long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from corral.domain.bounded_patterns import SYNTAX, NoPatternError, compiled
from corral.domain.errors import WrongUseError

#: A longer line is taken for several, so that nobody has to remember one that never ends.
LONGEST_LINE = 64 * 1024


class Pattern:
    """An RE2 pattern that is looked for in single lines; `^` and `$` are the ends of the line."""

    def __init__(self, text: str, name: str) -> None:
        """`name` is what the caller knows it by, should it be wrong."""
        try:
            self._regexp: Any = compiled(text, crosses_lines=False)
        except NoPatternError as error:
            raise WrongUseError(f"{name} is no pattern: {error}", SYNTAX) from None

    def found(self, line: bytes) -> bool:
        """True if it is in that line."""
        return next(self.lines(line or b"\n"), None) is not None

    def stays_found(self, line: bytes) -> bool:
        """True if it is in a line that is not finished, whatever may follow."""
        return all(self.found(line + more) for more in (b"", b"x", b" "))

    def lines(self, block: bytes) -> Iterator[int]:
        """Which lines of the block it is in, by number. The end of a line may be a carriage return as well."""
        text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
        at = number = 0
        while at < len(text) and (found := self._regexp.search(text, at)):
            begin, end = found.span()
            if begin == len(text) and text.endswith(b"\n"):
                return  # behind the last line there is none
            number += text.count(b"\n", at, begin)
            yield number
            at, number = text.find(b"\n", end) + 1, number + 1
            if not at:
                return


class Scan:
    """Goes over output as it comes, line by line: until a line matches, and keeping those that are wanted.

    A line is whole at its line feed. At a gap it ends where the gap begins.
    """

    def __init__(self, start: int, *, until: Pattern | None, keep: Pattern | None, limit: int | None) -> None:
        """`limit` bytes of lines are kept, or one line if that is longer; None is no limit."""
        self._until = until
        self._keep = keep
        self._limit = limit
        #: Where `_rest`, a line that is not finished, begins.
        self._at = start
        self._rest = b""
        self._size = 0
        self._full = False
        #: A line was what was waited for; `next` is behind it.
        self.matched = False
        #: Lines that were wanted.
        self.kept: list[bytes] = []
        #: Bytes that were not there to be looked at.
        self.omitted = 0

    @property
    def next(self) -> int:
        """The cursor behind the last line that was judged."""
        return self._at

    def take(self) -> tuple[list[bytes], int]:
        """The lines that were kept, and how many bytes were missing among them. They are counted no more."""
        taken = self.kept, self.omitted
        self.kept, self.omitted, self._size = [], 0, 0
        return taken

    @property
    def done(self) -> bool:
        """True if nothing that comes can change the result."""
        return self.matched or self._full

    def feed(self, position: int, data: bytes) -> None:
        """What was written at `position`."""
        if self.done:
            return
        if position > self._at + len(self._rest):
            self._judge_rest()
            if self.done:
                return
            self.omitted += position - self._at
            self._at = position
        buffer = self._rest + data
        cut = buffer.rfind(b"\n") + 1
        if len(buffer) - cut > LONGEST_LINE:
            cut = len(buffer)
        self._rest = buffer[cut:]
        self._judge(buffer[:cut])
        if self._until is not None and self._rest and self._until.stays_found(self._rest):
            self._judge_rest()

    def finish(self) -> None:
        """Nothing more will come: what is left is a line."""
        if not self.done:
            self._judge_rest()

    def give_up(self) -> None:
        """Nobody waits any longer: a line that is not finished counts as it stands for what was waited for."""
        if not self.done and self._rest and self._until is not None and self._until.found(self._rest):
            self._judge_rest()

    def _judge_rest(self) -> None:
        rest, self._rest = self._rest, b""
        self._judge(rest)

    def _judge(self, block: bytes) -> None:
        """Lines that begin at `_at`, which goes behind those that were judged."""
        if not block:
            return
        last = None if self._until is None else next(self._until.lines(block), None)
        if last is None and self._keep is None:
            self._at += len(block)
            return
        wanted = set() if self._keep is None else set(self._keep.lines(block))
        for number, line in enumerate(_lines(block)):
            if number in wanted:
                if self._limit is not None and self.kept and self._size + len(line) > self._limit:
                    self._full, self._rest = True, b""
                    return
                self.kept.append(line)
                self._size += len(line)
            self._at += len(line)
            if number == last:
                self.matched, self._rest = True, b""
                return


def _lines(block: bytes) -> list[bytes]:
    """The lines of a block, each with its line feed."""
    lines = [line + b"\n" for line in block.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
