"""A member in the text of a JSON file: adding one, or changing values in it. Pure.

Everything else in the text stays as it is, the comments and the commas before a closing bracket too that many programs
take in their settings. What cannot be done so raises ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: More than any honest file; a program that writes deeper ones wants something else than to be read.
_DEEPEST = 64
_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.0-9A-Za-z]+")
_INDENT = re.compile(r"^[ \t]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Node:
    """A value, and where in the text it stands."""

    start: int
    end: int
    value: object
    #: Of an object: its members.
    members: Mapping[str, _Node]


def read(text: str) -> dict[str, object]:
    """What the text says; nothing, if it is blank."""
    value = _root(text).value
    assert isinstance(value, dict)
    return value


def with_entry(text: str, table: str, name: str, entry: Mapping[str, object]) -> str:
    """The text with a member `name` in its member `table`, which is made if it is not there."""
    if _is_blank(text):
        return _pretty({table: {name: entry}}, "", "  ", "\n") + "\n"
    root = _root(text)
    if table in root.members:
        return _with_member(text, root.members[table], name, entry)
    return _with_member(text, root, table, {name: entry})


def with_values(text: str, table: str, name: str, values: Mapping[str, object]) -> str:
    """The text with these members of `table.name` set so."""
    for key, value in values.items():
        entry = _root(text).members[table].members[name]
        old = entry.members.get(key)
        if old is None:
            text = _with_member(text, entry, key, value)
        else:
            text = text[: old.start] + _inline(value) + text[old.end :]
    return text


def _with_member(text: str, node: _Node, key: str, value: object) -> str:
    """The text with a member at the end of the object `node`, laid out like the members before it."""
    closing = node.end - 1
    last = max((member.end for member in node.members.values()), default=node.start + 1)
    # Up to where something is said: a comment behind the last member stays behind it.
    said = len(text[:closing].rstrip())
    between = text[last:said]
    comma = "," if node.members and not _has_comma(between) else ""
    if "\n" in text[said:closing]:
        end = "\r\n" if "\r\n" in text else "\n"
        outer = _indent_at(text, closing)
        inner = _indent_at(text, next(iter(node.members.values())).start) if node.members else outer + _unit(text)
        new = f"{end}{inner}{_inline(key)}: {_pretty(value, inner, _unit(text), end)}"
    else:
        new = (" " if node.members else "") + f"{_inline(key)}: {_inline(value)}"
    return text[:last] + comma + between + new + text[said:]


def _has_comma(between: str) -> bool:
    blank = _BLANK.match(between)
    assert blank is not None
    return between[blank.end() : blank.end() + 1] == ","


def _unit(text: str) -> str:
    """What one step of indentation is in this text."""
    return next((indent for indent in _INDENT.findall(text) if indent), "  ")


def _indent_at(text: str, position: int) -> str:
    """What the line of `position` begins with."""
    found = _INDENT.match(text, text.rfind("\n", 0, position) + 1)
    return found.group() if found else ""


def _inline(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pretty(value: object, indent: str, unit: str, end: str) -> str:
    """An object with a member on each line; anything else, lists too, on one line."""
    if not isinstance(value, Mapping) or not value:
        return _inline(value)
    inner = indent + unit
    lines = [f"{inner}{_inline(key)}: {_pretty(member, inner, unit, end)}" for key, member in value.items()]
    return "{" + end + f",{end}".join(lines) + end + indent + "}"


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _root(text: str) -> _Node:
    if _is_blank(text):
        return _Node(0, 0, {}, {})
    start = _after_blank(text, 0)
    node = _node(text, start, 0)
    rest = _after_blank(text, node.end)
    if rest < len(text):
        raise _mistake(text, rest)
    if not isinstance(node.value, dict):
        raise ValueError("it is not a JSON object")
    return node


def _node(text: str, at: int, depth: int) -> _Node:
    if depth > _DEEPEST:
        raise ValueError(f"line {_line(text, at)}: nested more than {_DEEPEST} deep")
    if text[at : at + 1] == "{":
        return _object(text, at, depth)
    if text[at : at + 1] == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _WORD.match(text, at)
    if found is None:
        raise _mistake(text, at)
    return _Node(at, found.end(), _scalar(text, at, found.group()), {})


def _object(text: str, start: int, depth: int) -> _Node:
    value: dict[str, object] = {}
    members: dict[str, _Node] = {}
    at = _after_blank(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        if key is None:
            raise _mistake(text, at)
        name = _scalar(text, at, key.group())
        assert isinstance(name, str)
        if name in members:
            raise ValueError(f"line {_line(text, at)}: {key.group()} is there twice")
        at = _after_blank(text, key.end())
        if text[at : at + 1] != ":":
            raise _mistake(text, at)
        member = _node(text, _after_blank(text, at + 1), depth + 1)
        value[name], members[name] = member.value, member
        at = _next_item(text, member.end, "}")
    return _Node(start, at + 1, value, members)


def _array(text: str, start: int, depth: int) -> _Node:
    values: list[object] = []
    at = _after_blank(text, start + 1)
    while text[at : at + 1] != "]":
        item = _node(text, at, depth + 1)
        values.append(item.value)
        at = _next_item(text, item.end, "]")
    return _Node(start, at + 1, values, {})


def _next_item(text: str, end: int, closing: str) -> int:
    """Where the next item begins, or the closing bracket stands, after an item that ended at `end`."""
    at = _after_blank(text, end)
    if text[at : at + 1] == ",":
        return _after_blank(text, at + 1)
    if text[at : at + 1] != closing:
        raise _mistake(text, at)
    return at


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _scalar(text: str, at: int, word: str) -> object:
    try:
        return json.loads(word)
    except ValueError:
        raise _mistake(text, at) from None


def _mistake(text: str, at: int) -> ValueError:
    return ValueError(f"this is not JSON, at line {_line(text, at)}" if at < len(text) else "it ends too early")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
