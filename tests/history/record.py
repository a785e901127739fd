"""What a client did: every operation with its beginning, its end and what came of it, also of a client that was killed.

Times are of CLOCK_MONOTONIC, which all processes of a machine share and nobody can set: that an operation ended before
another began is a fact, whoever wrote them down.
"""

import itertools
import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

#: Done; not done, and nothing changed by it; nobody knows.
OK, FAIL, UNKNOWN = "ok", "fail", "unknown"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of one client."""

    client: str
    what: str
    began: float
    #: Infinite if nobody was told the end: it may happen at any time after `began`, or never.
    ended: float = math.inf
    outcome: str = UNKNOWN
    asked: dict[str, Any] = field(default_factory=dict)
    #: The answer, or the error object.
    told: Any = None

    @property
    def ok(self) -> bool:
        return self.outcome == OK


class Recorder:
    """Writes a line before an operation and one after it, so that one that was cut off is in the history, too."""

    def __init__(self, file: TextIO, client: str) -> None:
        self._file = file
        self._client = client
        self._numbers = itertools.count()

    def begin(self, what: str, asked: dict[str, Any]) -> int:
        number = next(self._numbers)
        self._write(number=number, client=self._client, what=what, asked=asked, began=time.monotonic())
        return number

    def end(self, number: int, outcome: str, told: Any) -> None:
        # What nobody knows has no end.
        ended = None if outcome == UNKNOWN else time.monotonic()
        self._write(number=number, outcome=outcome, told=told, ended=ended)

    def _write(self, **line: object) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def read(lines: Iterable[str]) -> Iterator[Operation]:
    """The operations that a `Recorder` wrote. A last line that was cut off counts for nothing."""
    found: dict[int, dict[str, Any]] = {}
    for line in lines:
        if line.endswith("\n"):
            one = json.loads(line)
            found.setdefault(one.pop("number"), {}).update(
                {key: value for key, value in one.items() if key != "ended" or value is not None}
            )
    return (Operation(**one) for one in found.values())
