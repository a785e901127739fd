"""Taking secrets out of output that comes in pieces, which may end in the middle of one. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
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

    `may_show` says of a secret how many of its first letters may be shown while nobody knows yet that it is one. Output
    that must be seen as it comes is then held back only if it looks like a secret, and looking at it costs little.
    """

    def __init__(self, secrets: Iterable[str], may_show: Callable[[str], int] | None = None) -> None:
        # On a terminal a line ends in another way than in the value: each line is looked for by itself.
        lines = {line.strip() for value in secrets for line in value.splitlines()}
        shows = {line.encode("utf-8", "surrogateescape"): may_show(line) if may_show else 0 for line in lines}
        self._secrets = sorted((value for value in shows if len(value) >= SHORTEST), key=len, reverse=True)[:_MOST]
        # The longest first: of two that begin alike, the whole of the longer one is hidden.
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._first = re.compile(b"|".join({re.escape(value[:1]) for value in self._secrets}))
        self._parts = tuple({part for value in self._secrets for part in _parts(value)})
        self._may_show = {value: shows[value] for value in self._secrets}
        #: Without any of these in it, output is neither a secret nor so much of one that it is held back.
        heads = {value[: shown + 1] for value, shown in self._may_show.items()}
        self._signs = (*heads, *(part for part in self._parts if not any(head in part for head in heads)))
        self._longest_sign = max(map(len, self._signs), default=0)
        self._waits = may_show is None
        #: What was shown last: a secret may have begun there.
        self._before = b""
        self._held = b""

    @property
    def held(self) -> int:
        """How many bytes are held back."""
        return len(self._held)

    def feed(self, data: bytes) -> bytes:
        """The output as far as it can be shown."""
        if self._pattern is None:
            return data
        if not self._waits and not self._held:
            # As it came: of a secret that is wrapped once or twice, one of the signs is whole.
            window = self._before[-self._longest_sign :] + data
            if not any(sign in window for sign in self._signs):
                self._remember(self._before + data)
                return data
        return self._fed(data)

    def _fed(self, data: bytes) -> bytes:
        data = self._before + self._held + data
        begun = _BEGUN_GAP.search(data, max(len(self._before), len(data) - _MOST_GAPS))
        whole = data[: begun.start()] if begun else data
        plain = whole.translate(None, _LINE_ENDS)
        if any(part in plain for part in self._parts):
            shown, at = self._looked_through(whole)
        else:
            at = max(self._end_of_shown(whole), len(self._before))
            shown = whole[len(self._before) : at]
        self._held = data[at:]
        self._remember(data[:at])
        if len(self._held) > len(self._secrets[0]) + _MOST_GAPS:
            return shown + self.finish()
        return shown

    def _remember(self, shown: bytes) -> None:
        if not self._waits:
            self._before = shown[-len(self._secrets[0]) - _MOST_GAPS :]

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
        return _masked(data, letters, found, len(letters) - self._beginning(rest), len(self._before))

    def _end_of_shown(self, data: bytes) -> int:
        """Up to where output can be shown that has no secret in it, but may end in the middle of one."""
        before = max(0, len(data) - len(self._secrets[0]) - _MOST_GAPS)
        letters = _GAP.sub(b"", data[before:])
        held = self._beginning(letters)
        return before + _Places(data[before:]).of(len(letters) - held) if held else len(data)

    def finish(self) -> bytes:
        """What was held back; whole secrets in it are masked."""
        before, held = self._before, self.take_back()
        if self._pattern is None or not held:
            return held
        letters = _GAP.sub(b"", before + held)
        found = [match.span() for match in self._pattern.finditer(letters)]
        return _masked(before + held, letters, found, len(letters), len(before))[0]

    def take_back(self) -> bytes:
        """What is held back, as it came: for another one to go on with."""
        held, self._held, self._before = self._held, b"", b""
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
            if any(len(tail) > shown and value.startswith(tail) for value, shown in self._may_show.items()):
                return len(tail)
        return 0


def _parts(secret: bytes) -> Iterator[bytes]:
    count = max(1, min(_MOST_PARTS, len(secret) // _SHORTEST_PART))
    cuts = [len(secret) * number // count for number in range(count + 1)]
    return (secret[begin:end] for begin, end in pairwise(cuts))


def _masked(
    data: bytes, letters: bytes, found: Sequence[tuple[int, int]], kept: int, known: int = 0
) -> tuple[bytes, int]:
    """The output with these parts of its `letters` masked, up to the letter `kept`; and how much of it that is.

    So many bytes as are `known` were shown already, and are left out.
    """
    if not found and kept == len(letters):
        return data[known:], len(data)
    place = _Places(data)
    shown, at = [], known
    for start, end in found:
        first, behind = max(place.of(start), known), place.of(end - 1) + 1
        if behind > known:
            shown += [data[at:first], MASK, *_GAP.findall(data, first, behind)]
            at = behind
    stop = max(place.of(kept), known) if kept < len(letters) else len(data)
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
