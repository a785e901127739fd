"""Asciicast v2, the format that terminals are recorded in: a header, then an event a line. Pure.

See https://docs.asciinema.org/manual/asciicast/v2/. Of input nothing is recorded.
"""

import json

OUTPUT, RESIZE, MARKER = "o", "r", "m"

Event = tuple[float, str, str]


def header(*, columns: int, rows: int, began: float, title: str) -> bytes:
    """The first line of a recording."""
    said = {
        "version": 2,
        "width": columns,
        "height": rows,
        "timestamp": int(began),
        "title": title,
        "env": {"TERM": "xterm-256color"},
    }
    return json.dumps(said, ensure_ascii=False).encode() + b"\n"


def event(seconds: float, kind: str, text: str) -> bytes:
    """A line; `seconds` count from the beginning."""
    return b"[%.3f, %s, %s]\n" % (max(0.0, seconds), json.dumps(kind).encode(), json.dumps(text).encode())


def parse(line: bytes) -> "Event | None":
    """An event; None for a header, and for a line that is none, as the last of a recording that is being written."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, list) or len(said) != 3 or not isinstance(said[0], int | float):
        return None
    return float(said[0]), str(said[1]), str(said[2])


def parse_header(line: bytes) -> "dict[str, object] | None":
    """The header; None if it is none."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    return said if isinstance(said, dict) and said.get("version") == 2 else None


def size_of(text: str) -> "tuple[int, int] | None":
    """The columns and rows that an event of a resize tells."""
    columns, _, rows = text.partition("x")
    return (int(columns), int(rows)) if columns.isdigit() and rows.isdigit() else None
