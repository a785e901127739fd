"""The journal in SQLite: events are put at its end, and those of one agent are found without an index over all.

An index by agent has a page for each agent, and a transaction that tells of ten agents would write ten of them: more
than all the rest of it. So it is only noted which agents a *span* of so many events in a row tells of, once for each
span, and a search reads no other spans. What is a team's and no agent's, or the host's, is noted without an agent. With
each span that begins the oldest goes, once there are so many: whoever has the daemon do things does not fill the disk
with what is told of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

import msgspec

from corral.adapters.sqlite.rows import write_rows
from corral.domain.records import Event, NewEvent, Who
from corral.ports.store import Change

#: Which span an event is of: its number without so many of its last bits. The schema knows it as well.
_SPAN_BITS = 10
#: Spans that are kept besides the present one: a million events, of some hundred bytes each.
KEPT_SPANS = 1024
_encode = msgspec.json.Encoder().encode


class _Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of an event that is not a column."""

    who: Who
    outcome: str
    data: dict[str, object] = {}


class Journal:
    """The journal of one open database."""

    def __init__(self, kept: int = KEPT_SPANS) -> None:
        self._kept = kept
        self._span = -1
        #: Of which it is noted that the present span tells of them: team and agent.
        self._told: set[tuple[str, str]] = set()

    def write(self, db: sqlite3.Connection, changes: Sequence[Change]) -> None:
        """Put the events of these at the end, within a transaction. `forget` must be called if that fails."""
        rows = [
            (change.time, new.team, new.agent, new.event, _entry(change, new))
            for change in changes
            for new in change.events
        ]
        if not rows:
            return
        last = write_rows(db, "INSERT INTO journal (time, team, agent, event, entry) {rows}", rows)
        spans = []
        # The rows of one transaction are numbered without a gap.
        for number, (_, team, agent, _, _) in enumerate(rows, last - len(rows) + 1):
            if number >> _SPAN_BITS != self._span:
                self._span, self._told = number >> _SPAN_BITS, set()
                self._trim(db)
            if (team, agent) not in self._told:
                self._told.add((team, agent))
                spans.append((team, agent, self._span))
        write_rows(db, "INSERT OR IGNORE INTO journal_spans (team, agent, span) {rows}", spans)

    def _trim(self, db: sqlite3.Connection) -> None:
        oldest = self._span - self._kept
        if oldest > 0:
            db.execute("DELETE FROM journal WHERE seq < ?", (oldest << _SPAN_BITS,))
            db.execute("DELETE FROM journal_spans WHERE span < ?", (oldest,))

    def forget(self) -> None:
        """What was noted of the present span may not be in the database."""
        self._span, self._told = -1, set()


def read(
    db: sqlite3.Connection,
    *,
    after: int | None,
    since: float | None,
    team: str,
    agent: str,
    last: int | None,
    limit: int,
    named: Sequence[str] = (),
    before: int | None = None,
    realm: tuple[str, str] | None = None,
) -> list[Event]:
    """See `Store.events`."""
    conditions, values = ["1"], list[object]()
    for condition, value in (
        ("seq > ?", after),
        ("seq < ?", before),
        ("time >= ?", since),
        ("journal.team = ?", team or None),
        ("journal.agent = ?", agent or None),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    if named:
        conditions.append(f"({' OR '.join(['event GLOB ?'] * len(named))})")
        values += named
    if realm is not None:
        # As the encoder writes it: within a text that somebody made up, each quote has a backslash before it.
        key = b'"realm":'
        conditions.append("(instr(entry, ?) > 0 OR (journal.team = ? AND instr(entry, ?) = 0))")
        values += [key + _encode(realm[0]), realm[1], key]
    source, order = "journal", "seq"
    if team and agent:
        # CROSS: span after span from the outside, so that the order is that of the journal and a limit ends it early.
        first, behind = f"(span << {_SPAN_BITS})", f"(span + 1 << {_SPAN_BITS})"
        source = f"journal_spans AS s CROSS JOIN journal ON seq >= {first} AND seq < {behind}"
        conditions.append("s.team = ? AND s.agent = ?")
        values += [team, agent]
        if after is not None:
            conditions.append("span >= ?")
            values.append(after >> _SPAN_BITS)
        if before is not None:
            conditions.append("span <= ?")
            values.append(before - 1 >> _SPAN_BITS)
        order = "span {direction}, seq"
    direction = "DESC" if last is not None else "ASC"
    query = (
        f"SELECT seq, time, journal.team, journal.agent, event, entry FROM {source}"  # noqa: S608 - all ours # nosec B608
        f" WHERE {' AND '.join(conditions)} ORDER BY {order.format(direction=direction)} {direction} LIMIT ?"
    )
    rows = db.execute(query, [*values, last if last is not None else limit]).fetchall()
    return [_event(row) for row in (rows[::-1] if last is not None else rows)]


def newest_besides(db: sqlite3.Connection, hidden: Collection[tuple[str, str]], before: int) -> int:
    """See `Store.newest_besides`."""
    # From the span that `before` is in on: it may begin with others.
    spans = db.execute(
        "SELECT team, agent, span FROM journal_spans WHERE span <= ? ORDER BY span DESC", (before - 1 >> _SPAN_BITS,)
    )
    found = next((span for team, agent, span in spans if (team, agent) not in hidden), None)
    return 0 if found is None else min(before, found + 1 << _SPAN_BITS)


def _event(row: tuple[int, float, str, str, str, bytes]) -> Event:
    seq, time, team, agent, event, raw = row
    entry = msgspec.json.decode(raw, type=_Entry)
    return Event(
        seq=seq, time=time, event=event, team=team, agent=agent, who=entry.who, outcome=entry.outcome, data=entry.data
    )


def _entry(change: Change, new: NewEvent) -> bytes:
    return _encode(_Entry(who=change.who, outcome=new.outcome, data=new.data))
