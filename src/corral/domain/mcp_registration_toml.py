"""A table in the text of a TOML file: adding one at the end, or changing values in it. Pure.

Everything else in the text stays as it is. What cannot be done so raises ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from corral.domain.errors import BadSpecError
from corral.domain.spec_lines import Statement, path_set_by, statements
from corral.domain.spec_syntax import load


def read(text: str) -> dict[str, object]:
    """What the text says."""
    try:
        return load(text.removeprefix("\ufeff"), "")
    except BadSpecError as error:
        problems = error.details["problems"]
        assert isinstance(problems, list)
        raise ValueError(f"line {problems[0]['line']}: {problems[0]['message']}") from None


def with_entry(text: str, table: str, name: str, entry: Mapping[str, object]) -> str:
    """The text with `[table.name]` at its end."""
    end = _line_end(text)
    gap = "" if not text.strip() else end if text.endswith("\n") else end * 2
    lines = [f"[{table}.{name}]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    return text + gap + "".join(line + end for line in lines)


def with_values(text: str, table: str, name: str, values: Mapping[str, object]) -> str:
    """The text with these keys of `[table.name]` set so. A comment behind an old value goes with it."""
    path = (table, name)
    places: dict[str, Statement] = {}
    header: tuple[str, ...] = ()
    begin: Statement | None = None
    for statement in statements(text):
        if statement.says_nothing:
            continue
        if statement.is_header:
            header = path_set_by(statement, ())
            begin = statement if header == path else begin
        elif header == path:
            places[path_set_by(statement, header)[-1]] = statement
    if begin is None:
        raise ValueError(f"{table}.{name} is not written as [{table}.{name}]")
    pieces = []
    for key, value in values.items():
        line = f"{key} = {_value(value)}{_line_end(text)}"
        place = places.get(key)
        where = (place.start, place.start + len(place.text)) if place else (_end(begin), _end(begin))
        pieces.append((*where, line))
    for start, stop, line in sorted(pieces, reverse=True):
        text = text[:start] + line + text[stop:]
    return text


def _end(statement: Statement) -> int:
    return statement.start + len(statement.text)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _value(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    # What JSON escapes, TOML takes; DEL is the one character that only TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
