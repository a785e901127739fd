"""Many rows in few statements.

Python lets go of its lock around every step of a statement, and where the event loop has much to do, gets it back
late. So what one statement writes is not one row but up to `_MOST`, and a transaction of a hundred rows takes a
handful of steps.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

_MOST = 64
#: How many a connection has to keep prepared: of each kind one for every number of rows.
STATEMENTS = 6 * _MOST


def write_rows(db: sqlite3.Connection, statement: str, rows: Sequence[Sequence[object]]) -> int:
    """Run a statement, in which `{rows}` stands for rows of values, for all rows in their order.

    The id that the last row was given, if there is any row.
    """
    last = 0
    for begin in range(0, len(rows), _MOST):
        part = rows[begin : begin + _MOST]
        one = f"({', '.join('?' * len(part[0]))})"
        cursor = db.execute(
            statement.replace("{rows}", "VALUES " + ", ".join([one] * len(part))),
            [value for row in part for value in row],
        )
        last = cursor.lastrowid or 0
    return last
