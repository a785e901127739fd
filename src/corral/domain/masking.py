"""Taking secrets out of output that comes in pieces, which may end in the middle of one. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

#: What is shown in the place of a secret, however long that is.
MASK = b"********"
#: Shorter values are words such as `true`, `8080` or `prod`: to mask those would hide what is no secret.
SHORTEST = 6
#: More would make every piece of output slow to look through.
_MOST = 200


#: What may stand between two letters of a secret that is shown as one: where a line is wrapped, and colours and moves
#: of the cursor. It stays where it is.
_GAP = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-Za-z]|[\r\n]")
#: One of those that is not whole yet.
_BEGUN_GAP = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[()])?\Z")
#: What is held back beyond the length of a secret, for gaps in it. Who has more of them paints, and writes nothing.
_MOST_GAPS = 512
#: A secret with gaps is looked for by its parts: so many at most, of so many letters or more. With one gap less than
#: there are parts, one of them is whole.
_MOST_PARTS, _SHORTEST_PART = 3, 3
_LINE_ENDS = b"\r\n"


class Masker:
    """Feed it output; it comes out without the secrets.

    What may be the beginning of one is held back until more comes, however long that takes: a secret that is echoed
    letter by letter is masked as well, and so is one that is wrapped over a few lines or changes its colour. `finish`
    gives what was held back and turned out to be none.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # On a terminal a line ends in another way than in the value: each line is looked for by itself.
        lines = (line for value in secrets for line in value.splitlines())
        values = {line.strip().encode("utf-8", "surrogateescape") for line in lines}
        self._secrets = sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True)[:_MOST]
        # The longest first: of two that begin alike, the whole of the longer one is hidden.
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._first = re.compile(b"|".join({re.escape(value[:1]) for value in self._secrets}))
        self._parts = tuple({part for value in self._secrets for part in _parts(value)})
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The output as far as it can be shown."""
        if self._pattern is None:
            return data
        data = self._held + data
        begun = _BEGUN_GAP.search(data, max(0, len(data) - _MOST_GAPS))
        whole = data[: begun.start()] if begun else data
        plain = whole.translate(None, _LINE_ENDS)
        if any(part in plain for part in self._parts):
            shown, at = self._looked_through(whole)
        else:
            at = self._end_of_shown(whole)
            shown = whole[:at]
        self._held = data[at:]
        if len(self._held) > len(self._secrets[0]) + _MOST_GAPS:
            return shown + self.finish()
        return shown

    def _looked_through(self, data: bytes) -> tuple[bytes, int]:
        """What can be shown of output that may have secrets in it, and how much of it that is."""
        assert self._pattern is not None
        letters = _GAP.sub(b"", data)
        found = []
        for match in self._pattern.finditer(letters):
            # A longer one may still be under way at the end: then neither is decided yet.
            if self._may_be_longer(letters, match.start(), match.end()):
                break
            found.append(match.span())
        rest = letters[found[-1][1] :] if found else letters
        return _masked(data, letters, found, len(letters) - self._beginning(rest))

    def _end_of_shown(self, data: bytes) -> int:
        """Up to where output can be shown that has no secret in it, but may end in the middle of one."""
        before = max(0, len(data) - len(self._secrets[0]) - _MOST_GAPS)
        letters = _GAP.sub(b"", data[before:])
        held = self._beginning(letters)
        return before + _Places(data[before:]).of(len(letters) - held) if held else len(data)

    def finish(self) -> bytes:
        """What was held back; whole secrets in it are masked."""
        held = self.take_back()
        if self._pattern is None:
            return held
        letters = _GAP.sub(b"", held)
        found = [match.span() for match in self._pattern.finditer(letters)]
        return _masked(held, letters, found, len(letters))[0]

    def take_back(self) -> bytes:
        """What is held back, as it came: for another one to go on with."""
        held, self._held = self._held, b""
        return held

    def _may_be_longer(self, data: bytes, start: int, end: int) -> bool:
        tail = data[start:]
        return any(
            len(value) > len(tail) and len(value) > end - start and value.startswith(tail) for value in self._secrets
        )

    def _beginning(self, rest: bytes) -> int:
        """How many bytes at the end may be the beginning of a secret."""
        longest = len(self._secrets[0])
        window = max(0, len(rest) - longest)
        for found in self._first.finditer(rest, window):
            tail = rest[found.start() :]
            if any(value.startswith(tail) for value in self._secrets):
                return len(tail)
        return 0


def _parts(secret: bytes) -> Iterator[bytes]:
    count = max(1, min(_MOST_PARTS, len(secret) // _SHORTEST_PART))
    cuts = [len(secret) * number // count for number in range(count + 1)]
    return (secret[begin:end] for begin, end in pairwise(cuts))


def _masked(data: bytes, letters: bytes, found: Sequence[tuple[int, int]], kept: int) -> tuple[bytes, int]:
    """The output with these parts of its `letters` masked, up to the letter `kept`; and how much of it that is."""
    if not found and kept == len(letters):
        return data, len(data)
    place = _Places(data)
    shown, at = [], 0
    for start, end in found:
        first, behind = place.of(start), place.of(end - 1) + 1
        shown += [data[at:first], MASK, *_GAP.findall(data, first, behind)]
        at = behind
    stop = place.of(kept) if kept < len(letters) else len(data)
    return b"".join((*shown, data[at:stop])), stop


class _Places:
    """Where in some output each of its letters is, when what is between them is left out."""

    def __init__(self, data: bytes) -> None:
        #: Of each run of letters, the number of the first and where it is.
        self._numbers, self._places = [0], [0]
        left_out = 0
        for gap in _GAP.finditer(data):
            left_out += gap.end() - gap.start()
            self._numbers.append(gap.end() - left_out)
            self._places.append(gap.end())

    def of(self, number: int) -> int:
        run = bisect_right(self._numbers, number) - 1
        return self._places[run] + number - self._numbers[run]
