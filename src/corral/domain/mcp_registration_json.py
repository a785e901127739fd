"""Something of ours in the text of a JSON file: a member or an item of a list, added, changed or taken out. Pure.

Everything else in the text stays as it is, the comments and the commas before a closing bracket too that many programs
take in their settings. What cannot be done so raises ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    #: Of a list: its items.
    items: Sequence[_Node] = ()
    #: Of a member: where its name stands.
    key: int = -1


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


def with_item(text: str, path: Sequence[str], item: object) -> str:
    """The text with an item at the end of the list that the path leads to. What is not there of the path is made."""
    if _is_blank(text):
        return _pretty(_below(path, [item]), "", "  ", "\n") + "\n"
    node = _root(text)
    for at, name in enumerate(path):
        if name not in node.members:
            return _with_member(text, node, name, _below(path[at + 1 :], [item]))
        node = node.members[name]
    if not isinstance(node.value, list):
        raise ValueError(f"{'.'.join(path)} is no list")
    return _with_child(text, node, node.items, _inline(item))


def without_item(text: str, path: Sequence[str], index: int) -> str:
    """The text without one item of the list that the path leads to."""
    node = _root(text)
    for name in path:
        node = node.members[name]
    items = node.items
    if index + 1 < len(items):
        return text[: items[index].start] + text[items[index + 1].start :]
    if not index:
        return text[: node.start + 1] + text[node.end - 1 :]
    # The comma before it goes along; a comment between the two is about the other one.
    before = items[index - 1].end
    comma = _after_blank(text, before)
    return text[:comma] + text[comma + 1 : items[index].start].rstrip() + text[items[index].end :]


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without the member that the path leads to."""
    node = _root(text)
    for name in path[:-1]:
        node = node.members[name]
    members = list(node.members.values())
    index = list(node.members).index(path[-1])
    if index + 1 < len(members):
        return text[: members[index].key] + text[members[index + 1].key :]
    if not index:
        return text[: node.start + 1] + text[node.end - 1 :]
    before = members[index - 1].end
    comma = _after_blank(text, before)
    return text[:comma] + text[comma + 1 : members[index].key].rstrip() + text[members[index].end :]


def _below(path: Sequence[str], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _with_member(text: str, node: _Node, key: str, value: object) -> str:
    """The text with a member at the end of the object `node`, laid out like the members before it."""
    members = list(node.members.values())
    inner, end = _indent_in(text, node, members), _line_end(text)
    spread = f"{_inline(key)}: {_pretty(value, inner, _unit(text), end)}"
    return _with_child(text, node, members, f"{_inline(key)}: {_inline(value)}", spread)


def _with_child(text: str, node: _Node, children: Sequence[_Node], inline: str, spread: str = "") -> str:
    """The text with something at the end of `node`, on a line of its own (as `spread`) if the others have such."""
    closing = node.end - 1
    last = max((child.end for child in children), default=node.start + 1)
    # Up to where something is said: a comment behind the last child stays behind it.
    said = len(text[:closing].rstrip())
    between = text[last:said]
    comma = "," if children and not _has_comma(between) else ""
    if "\n" in text[said:closing]:
        new = f"{_line_end(text)}{_indent_in(text, node, children)}{spread or inline}"
    else:
        new = (" " if children else "") + inline
    return text[:last] + comma + between + new + text[said:]


def _indent_in(text: str, node: _Node, children: Sequence[_Node]) -> str:
    """What a line begins with that has a child of `node`."""
    return _indent_at(text, children[0].start) if children else _indent_at(text, node.end - 1) + _unit(text)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


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
        member = replace(_node(text, _after_blank(text, at + 1), depth + 1), key=key.start())
        value[name], members[name] = member.value, member
        at = _next_item(text, member.end, "}")
    return _Node(start, at + 1, value, members)


def _array(text: str, start: int, depth: int) -> _Node:
    items: list[_Node] = []
    at = _after_blank(text, start + 1)
    while text[at : at + 1] != "]":
        items.append(_node(text, at, depth + 1))
        at = _next_item(text, items[-1].end, "]")
    return _Node(start, at + 1, [item.value for item in items], {}, items)


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
