"""Every parameter and every field of every operation, one after the other, with the values that break programs.

Made-up data seldom has them: numbers that no column holds, half a character, a NUL, a text of a hundred kilobytes. The
rest of each request is right, so that the value gets as far as it can.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tests.fuzz.taming import LEFT_OUT, Ground, right, tamed

_QUERY = (
    "",
    "nan",
    "inf",
    "-1",
    "1e309",
    "9" * 18,
    "9" * 400,
    "0x10",
    "٣",
    "\0",
    "a\nb",
    "%ff",
    "é" * 3000,
    "../..",
    "#(id)",
)
#: As the bytes of a query, without encoding: no UTF-8.
_BYTES = ("%ff%fe", "%00", "%ed%a0%80", "+", "%")
_BODY: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**31,
    2**63,
    -(2**70),
    1e308,
    "",
    "\0",
    "a\nb\x1b[2J",
    "x" * 100_000,
    "../../etc",
    "#(id)",
    [],
    {},
)
_BODY_JSON = (b'"\\ud800"', b"1e400", b"-0.0", b'["\\udfff"]', b'{"\\ud800": 1}', b"[[[[]]]]", b'{"base64": "!"}')
_HOLE = "put it here"
_MOST_OF_A_PATH = 2000


@dataclass(frozen=True)
class Edge:
    """A request, and what is unusual about it."""

    operation: str
    what: str
    method: str
    target: str
    body: bytes | None


def edges(document: Mapping[str, Any], ground: Ground) -> Iterator[Edge]:
    """All of them."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if operation["operationId"] not in LEFT_OUT:
                yield from _of_operation(document, ground, path, method.upper(), operation)


def _of_operation(
    document: Mapping[str, Any], ground: Ground, path: str, method: str, operation: Mapping[str, Any]
) -> Iterator[Edge]:
    name = operation["operationId"]
    known = right(ground)
    parameters = operation["parameters"]
    query = {p["name"]: known.get(p["name"], 1) for p in parameters if p["in"] == "query" and p["required"]}
    if any(p["name"] == "team" for p in parameters):
        query["team"] = ground.team
    inside = {p["name"]: str(known.get(p["name"], "x")) for p in parameters if p["in"] == "path"}
    content = operation.get("requestBody", {}).get("content", {})
    body, fields = right_body(document, content, known)

    def made(what: str, query: Mapping[str, Any], inside: Mapping[str, str], body: Any, raw: str = "") -> Edge:
        calm, body = tamed(name, ground, dict(query), body)
        target = path.format(**inside) + "?" + urlencode(calm, doseq=True) + raw
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return Edge(name, what, method, target, sent)

    for parameter in parameters:
        which = parameter["name"]
        if parameter["in"] == "path":
            for value in _QUERY[1:]:
                part = quote(value, safe="")[:_MOST_OF_A_PATH]
                yield made(f"{which}={value[:20]!r}", query, {**inside, which: part}, body)
            continue
        # What every operation takes is read by the same few lines: there, a few will do.
        common = which in ("team", "agent", "cwd")
        for value in _QUERY[::4] if common else _QUERY:
            yield made(f"{which}={value[:20]!r}", {**query, which: value}, inside, body)
        others = {key: value for key, value in query.items() if key != which}
        for raw in _BYTES[:2] if common else _BYTES:
            if which not in ("follow", "wait", "timeout"):
                yield made(f"{which}={raw}", others, inside, body, f"&{which}={raw}")
    for field in fields:
        for odd in _BODY:
            yield made(f"{field}: {str(odd)[:20]!r}", query, inside, {**body, field: odd})
        for written in _BODY_JSON:
            edge = made(f"{field}: {written!r}", query, inside, {**body, field: _HOLE})
            assert edge.body is not None
            if json.dumps(_HOLE).encode() in edge.body:  # else it was tamed: such a value is none of those allowed
                changed = edge.body.replace(json.dumps(_HOLE).encode(), written)
                yield Edge(name, edge.what, method, edge.target, changed)
    if content:
        for given in (b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 10_000, b'{"a":' * 5_000, b"\0" * 10):
            if not fields or name not in ("execute", "up"):
                yield made(f"body {given[:10]!r}", query, inside, given)


def right_body(
    document: Mapping[str, Any], content: Mapping[str, Any], known: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    """A body that is right, and its fields."""
    if "application/json" not in content:
        return (b"hello", []) if content else (None, [])
    reference = content["application/json"]["schema"]["$ref"]
    schema = document["components"]["schemas"][reference.rsplit("/", 1)[-1]]
    fields = schema.get("properties", {})
    needed = {name: known.get(name, _plain(fields[name])) for name in schema.get("required", ())}
    if "team" in fields:
        needed["team"] = known["team"]
    return needed, list(fields)


def _plain(schema: Mapping[str, Any]) -> Any:
    plain: dict[str, Any] = {"integer": 1, "number": 1.0, "array": [], "object": {}, "boolean": True}
    if "enum" in schema:
        return schema["enum"][0]
    return plain.get(str(schema.get("type")), "text")
