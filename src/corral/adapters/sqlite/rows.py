"""Many rows in few statements.

Python lets go of its lock around every step of a statement, and where the event loop has much to do, gets it back
late. So what one statement writes is not one row but up to `_MOST`, and a transaction of a hundred rows takes a
handful of steps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

_MOST = 64


def write_rows(db: sqlite3.Connection, statement: str, rows: Sequence[Sequence[object]]) -> int:
    """Run a statement, in which `{rows}` stands for rows of values, for all rows in their order.

    The id that the last row was given, if there is any row.
    """
    last = 0
    for part in _parts(rows):
        one = f"({', '.join('?' * len(part[0]))})"
        cursor = db.execute(
            statement.replace("{rows}", "VALUES " + ", ".join([one] * len(part))),
            [value for row in part for value in row],
        )
        last = cursor.lastrowid or 0
    return last


def _parts(rows: Sequence[Sequence[object]]) -> Iterator[Sequence[Sequence[object]]]:
    """Parts whose sizes are powers of two: few different statements, which stay prepared."""
    begin, size = 0, _MOST
    while begin < len(rows):
        while size > len(rows) - begin:
            size //= 2
        yield rows[begin : begin + size]
        begin += size
