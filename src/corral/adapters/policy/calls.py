"""Which functions a compiled policy calls, and where: read from what the engine made of it, not from its text.

regopy gives out what it compiled in one way only: written to a directory, with a copy of each module under the name
that it was added by. So modules have names here that lead nowhere else.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec


class _Value(msgspec.Struct):
    value: str


class _Static(msgspec.Struct):
    files: list[_Value]


class _Function(msgspec.Struct):
    name: str
    #: Statements, with blocks of others in them.
    blocks: list[Any]


class _Functions(msgspec.Struct):
    funcs: list[_Function]


class _Plan(msgspec.Struct):
    """`plan.json`: OPA's intermediate representation."""

    static: _Static
    funcs: _Functions


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call of what is no function of the policy's own."""

    #: The number of the module, and the line in it.
    module: int
    line: int
    #: As the engine knows it: `net.cidr_contains`.
    function: str


def name_of(number: int) -> str:
    """What a module has to be added as: it becomes a file of this name in a directory that goes again."""
    return str(number)


def foreign_calls(interpreter: Any, bundle: Any) -> list[Call]:
    """The calls of what the policy does not define itself, in the order of modules and lines."""
    with tempfile.TemporaryDirectory(prefix="corral-policy-") as place:
        interpreter.save_bundle(place, bundle)
        with open(os.path.join(place, "plan.json"), "rb") as written:
            plan = msgspec.json.decode(written.read(), type=_Plan)
    own = {function.name for function in plan.funcs.funcs}
    found = set()
    for function in plan.funcs.funcs:
        # Not each statement says where it is; then it belongs to the one before it. The first is the head of a rule.
        file = line = 0
        for kind, said in _statements(function.blocks):
            if "file" in said:
                file, line = said["file"], said["row"] + 1
            if kind == "CallStmt" and said["func"] not in own:
                found.add(Call(module=int(plan.static.files[file].value), line=line, function=said["func"]))
    return sorted(found, key=lambda one: (one.module, one.line, one.function))


def _statements(part: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """The statements in this part, in order and however deep: what each is, and what it says."""
    if isinstance(part, dict):
        if "stmt" in part:
            yield part["type"], part["stmt"]
        for inner in part.values():
            yield from _statements(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _statements(inner)
