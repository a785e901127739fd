"""The contract for scripts has every event that the journal gets, and every key that an error brings along."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import corral

SOURCE = Path(corral.__file__).parent
PAGE = (SOURCE.parents[1] / "docs/reference/contract.md").read_text(encoding="utf-8")
#: What an event can be about. Failpoints are left out below, and so are names of files.
EVENT = re.compile(
    r"(agent|daemon|doctor|hook|keeper|kv|lease|member|merge|message|port|process|prompt|task|team|token|topic|workspace)\.[a-z_]+"
)
NOT_EVENTS = {"daemon.lock", "daemon.log", "daemon.sock", "keeper.env", "keeper.lock", "keeper.log", "keeper.sock"}
ERRORS = ("RefusedError", "NotFoundError", "WrongUseError", "UnavailableError", "CorralError")
CODE = re.compile(r"`(\w+)`")


@cache
def nodes() -> list[ast.AST]:
    """All of the source, read once."""
    return [node for path in SOURCE.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of a function or class by its name."""
    for node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            yield node.func.id if isinstance(node.func, ast.Name) else node.func.attr, node


def texts() -> Iterator[str]:
    """Every text in the source."""
    for node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def events() -> set[str]:
    failpoints = {
        argument.value
        for name, call in calls()
        if name == "point"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }
    return {text for text in texts() if EVENT.fullmatch(text)} - failpoints - NOT_EVENTS


def test_every_event_is_in_the_table() -> None:
    rows = re.findall(r"^\| (`[a-z]+\.[a-z_]+`[^|]*)\|", PAGE, re.MULTILINE)
    table = {event for row in rows for event in re.findall(r"`([a-z]+\.[a-z_]+)`", row)}
    assert len(events()) > 60, "or this looks for them in the wrong way"
    assert events() - table == set()


def test_every_key_of_an_error_is_told_of() -> None:
    keys = {
        keyword.arg
        for name, call in calls()
        if name in ERRORS
        for keyword in call.keywords
        if keyword.arg not in (None, "message", "remedy")
    }
    assert {"holder", "pattern", "cycle", "unknown"} <= keys, "or this looks for them in the wrong way"
    assert keys - set(CODE.findall(PAGE)) == set()


def test_every_primitive_has_a_section() -> None:
    headings = set(CODE.findall("\n".join(re.findall(r"^### .*$", PAGE, re.MULTILINE))))
    assert {"lease", "lock", "kv", "msg", "port", "pub", "sub", "task", "merge", "who"} <= headings
