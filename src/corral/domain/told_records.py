"""What the records that a program writes say of what it does: in its transcript, or on its standard output. Pure.

A record is a JSON object on a line of its own. Which of them say something is data of the program's profile. Of several
the last that says anything counts. Whatever is no record, or one that no rule knows, says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

#: What a member of a record may be compared with.
Value = str | bool
#: Of a transcript, so many seconds before a run began still count as its own: clocks of files tick coarsely.
_TICK = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRule:
    """A kind of record that says what the program does."""

    #: `working` or `idle`: records are written when something was done, and none when somebody is asked.
    says: str
    #: Members, as `a.b`, each with what it may be. All must fit; one that a record does not have fits nothing.
    where: tuple[tuple[str, tuple[Value, ...]], ...]

    def fits(self, record: object) -> bool:
        """True if the record is of that kind."""
        return all(_fits(member(record, name), values) for name, values in self.where)


@dataclass(frozen=True, slots=True)
class Told:
    """What the last record that says anything said."""

    word: str
    #: Unix time at which the record was written; None if it does not say.
    at: float | None


def last_told(
    rules: Sequence[RecordRule], lines: Sequence[bytes], *, time: str = "", since: float = 0.0
) -> Told | None:
    """What the last of these lines that says anything says; None if none does.

    With `time`, the member that names the moment of a record, one without it says nothing, nor does one of before
    `since`: a conversation that goes on has records of earlier runs.
    """
    for line in reversed(lines):
        if not line.lstrip().startswith(b"{"):
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the last one may be cut off
        rule = next((rule for rule in rules if rule.fits(record)), None)
        if rule is None:
            continue
        at = _moment(member(record, time)) if time else None
        if not time or (at is not None and at >= since - _TICK):
            return Told(rule.says, at)
    return None


def member(record: object, name: str) -> object:
    """The member `a.b` of a record; None if it has none."""
    value = record
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _fits(value: object, wanted: Sequence[Value]) -> bool:
    return isinstance(value, str | bool) and any(type(value) is type(one) and value == one for one in wanted)


def _moment(value: object) -> float | None:
    """Unix time of an RFC 3339 time with its zone; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
