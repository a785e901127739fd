"""What agents use, as a table, and a table that is drawn anew in its place."""

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from corral.cli.amounts import UNKNOWN, count, duration, percentage, size
from corral.cli.output import DIM, RED, YELLOW, paint, redraws, takes_colour, width_of
from corral.cli.table import GAP, lines, shortened, widths
from corral.client.answers import Record

HEADINGS = ("TEAM", "AGENT", "STATE", "CPU%", "TIME", "MEM", "PEAK", "LIMIT", "TASKS", "PRESSURE", "OOM", "LEVEL")
#: What gives way on a narrow terminal, in this order.
_GIVES_WAY = ("LEVEL", "PEAK", "TIME", "STATE", "PRESSURE", "LIMIT", "OOM", "TASKS")
#: The line of the team as a whole; no agent can have this name.
_WHOLE = "(team)"


def table(stats: Sequence[Record]) -> list[str]:
    """The lines of the table, as wide as the terminal if there is one."""
    rows = [list(HEADINGS), *(_row(stat) for stat in stats)]
    columns = _fitting(rows, width_of(sys.stdout))
    text = lines([[row[at] for at in columns] for row in rows])
    if takes_colour(sys.stdout):
        text = [paint(text[0], DIM, True), *map(_coloured, text[1:], stats)]
    return text


class Screen:
    """Lines that take the place of the lines before, if `stream` is a terminal; else they follow them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._in_place = redraws(stream)
        self._drawn = 0
        self._begun = False

    def show(self, text: Sequence[str]) -> None:
        """Draw these lines."""
        if self._in_place:
            text = self._cut(text)
            up = f"\x1b[{self._drawn}A" if self._drawn else ""
            # Each line is cleared behind its end, then all that is below: nothing flickers.
            self._stream.write(up + "\r" + "".join(f"{line}\x1b[K\n" for line in text) + "\x1b[J")
        else:
            self._stream.write(("\n" if self._begun else "") + "".join(line + "\n" for line in text))
        self._drawn = len(text)
        self._begun = True
        self._stream.flush()

    def leave(self) -> None:
        """Go to a line of its own: the terminal has shown the key that ended it."""
        if self._in_place:
            self._stream.write("\n")
            self._stream.flush()

    def _cut(self, text: Sequence[str]) -> Sequence[str]:
        """What fits: a line that has left the terminal at its top cannot be drawn anew."""
        try:
            height = os.get_terminal_size(self._stream.fileno()).lines or 24
        except OSError:
            height = 24
        room = max(height - 1, 2)
        if len(text) <= room:
            return text
        width = width_of(self._stream) or 80
        return [*text[: room - 1], shortened(f"… and {len(text) - room + 1} lines more", width)]


def _row(stat: Record) -> list[str]:
    state = "paused" if stat.get("paused") else str(stat.get("state") or "")
    level = str(stat.get("containment") or "")
    return [
        str(stat.get("team")),
        str(stat.get("agent") or _WHOLE),
        state or UNKNOWN,
        percentage(stat.get("cpu_percent")),
        duration(stat.get("cpu_seconds")),
        size(stat.get("memory_current")),
        size(stat.get("memory_peak")),
        size(stat.get("memory_limit")),
        count(stat.get("tasks"), stat.get("tasks_limit")),
        _pressure(stat.get("pressure")),
        count(stat.get("oom_kills")),
        level if level not in ("", "none") else UNKNOWN,
    ]


def _pressure(pressure: object) -> str:
    """The highest of them and what it is about: `memory 12.5%`."""
    if not isinstance(pressure, dict):
        return UNKNOWN
    name, most = max(
        ((name, part) for name, part in pressure.items() if isinstance(part, int | float)),
        key=lambda named: named[1],
        default=("", 0),
    )
    return f"{name} {percentage(most)}%" if most else "0%"


def _fitting(rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    columns = list(range(len(HEADINGS)))
    if width is None:
        return columns
    measures = widths(rows)
    for heading in _GIVES_WAY:
        if sum(measures[at] for at in columns) + len(GAP) * (len(columns) - 1) <= width:
            break
        columns.remove(HEADINGS.index(heading))
    return columns


def _coloured(line: str, stat: Record) -> str:
    if stat.get("oom_kills"):
        return paint(line, RED, True)
    if stat.get("paused"):
        return paint(line, YELLOW, True)
    return line if stat.get("tasks") is not None else paint(line, DIM, True)
