"""Taking secrets out of output that comes in pieces, which may end in the middle of one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: What is shown in the place of a secret, however long that is.
MASK = b"********"
#: Shorter values are words such as `true`, `8080` or `prod`: to mask those would hide what is no secret.
SHORTEST = 6
#: More would make every piece of output slow to look through.
_MOST = 200


class Masker:
    """Feed it output; it comes out without the secrets.

    What may be the beginning of one is held back until more comes, however long that takes: a secret that is echoed
    letter by letter is masked as well. `finish` gives what was held back and turned out to be none.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        # On a terminal a line ends in another way than in the value: each line is looked for by itself.
        lines = (line for value in secrets for line in value.splitlines())
        values = {line.strip().encode("utf-8", "surrogateescape") for line in lines}
        self._secrets = sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True)[:_MOST]
        # The longest first: of two that begin alike, the whole of the longer one is hidden.
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._first = re.compile(b"|".join({re.escape(value[:1]) for value in self._secrets}))
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The output as far as it can be shown."""
        if self._pattern is None:
            return data
        data = self._held + data
        shown, at = [], 0
        for found in self._pattern.finditer(data):
            # A longer one may still be under way at the end: then neither is decided yet.
            if self._may_be_longer(data, found.start(), found.end()):
                break
            shown.append(data[at : found.start()])
            shown.append(MASK)
            at = found.end()
        rest = data[at:]
        kept = len(rest) - self._beginning(rest)
        self._held = rest[kept:]
        return b"".join((*shown, rest[:kept]))

    def finish(self) -> bytes:
        """What was held back; whole secrets in it are masked."""
        held, self._held = self._held, b""
        return self._pattern.sub(MASK, held) if self._pattern else held

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
