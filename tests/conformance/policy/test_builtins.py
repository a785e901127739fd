"""What rules may use answers here as it does in OPA: each built-in, with values of every kind in every place."""

import asyncio
import itertools
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from corral.adapters.policy import builtins
from corral.adapters.policy.engine import Engine, NoAnswerError
from corral.adapters.policy.sources import Module, read
from tests.support import opa

pytestmark = pytest.mark.slow

_INFIX = {
    "and": "a & b",
    "or": "a | b",
    "plus": "a + b",
    "minus": "a - b",
    "neq": "a != b",
    "internal.member_2": "a in b",
    "internal.member_3": "(a, b in c)",
    "lt": "a < b",
    "lte": "a <= b",
    "gt": "a > b",
    "gte": "a >= b",
}
_ARGUMENTS = {
    **dict.fromkeys(("object.get", "substring", "internal.member_3"), 3),
    **dict.fromkeys(("array.reverse", "count", "intersection", "object.keys", "strings.reverse", "trim_space"), 1),
    **dict.fromkeys(("type_name", "union", "time.clock", "time.date", "time.weekday"), 1),
}
#: Whole numbers, texts and what holds them. Of sets with several in them the order is not told by any that may be used
#: but `concat` (docs/howto/policy.md).
_VALUES = """
"" | "a" | "b" | "Zoë" | "a/b" | "dev2" | "/" | " x " | "aba" | "日本" | 0 | 1 | 2 | 3 | -1 | 10 | 9 | 1.5
true | false | null
[] | ["a"] | ["b", "a"] | ["a", "b", null] | [1, 10, 9] | [[1], "x"] | ["a", "b"] | [0] | [["a"]]
{} | {"a": 1} | {"k": "v", "a": {"b": 1}} | set() | {1} | {"a"} | {"b", "a"} | {10, 9} | {x @ some x in [{1}, {2}]}
{x @ some x in [{"a", "b"}, {"a"}]}
"""
_NUMBERS = "0 | 1 | -1 | 2 | 9 | 10 | 100 | 1.5 | -1.5 | 0.25 | 1700000000000000000 | 9007199254740993"
_TIMES = """
0 | 1 | -1 | 1.5 | "a" | null | 1700000000000000000 | [] | [1700000000000000000, "UTC"] | [1700000000000000000, ""]
[1700000000000000000, "Europe/Berlin"] | [1720000000000000000, "America/New_York"] | [1720000000000000000, "Nowhere/X"]
"""
_MOST = 500


def _names(function: str) -> list[str]:
    count = 1 if function.startswith("is_") else _ARGUMENTS.get(function, 2)
    return ["a", "b", "c"][:count]


def _values(function: str) -> list[str]:
    text = _NUMBERS if function in builtins.ORDERING else _TIMES if function.startswith("time.") else _VALUES
    values = [one.strip().replace("@", "|") for line in text.strip().splitlines() for one in line.split(" | ")]
    return [one for one in values if function != "concat" or one not in ('{"b", "a"}', "{10, 9}")]


def _module(function: str, values: Sequence[str]) -> str:
    names = _names(function)
    call = _INFIX.get(function, f"{function}({', '.join(names)})")
    # Through a function of any arguments: what is plainly wrong OPA would refuse before it runs.
    return (
        f"package t\n\nvalues := [{', '.join(values)}]\n\nasked({', '.join(names)}) := {call}\n\n"
        f'answer := {{"is": type_name(y), "value": y}} if {{\n'
        f"\ty := asked({', '.join(f'values[input.{name}]' for name in names)})\n}}\n"
    )


def _inputs(function: str, values: Sequence[str]) -> list[dict[str, int]]:
    names = _names(function)
    every = list(itertools.product(range(len(values)), repeat=len(names)))
    chosen = random.Random(function).sample(every, min(_MOST, len(every)))
    return [dict(zip(names, one, strict=True)) for one in chosen]


def _plain(answer: object) -> object:
    """An answer, with what is in a set in one order."""
    if isinstance(answer, dict) and answer.get("is") == "set":
        return {**answer, "value": sorted(answer["value"], key=lambda one: json.dumps(_sorted(one)))}
    return answer


def _sorted(value: object) -> object:
    return sorted(value, key=json.dumps) if isinstance(value, list) else value


def _here(text: str, inputs: Sequence[dict[str, int]]) -> list[object]:
    sources = replace(read(), modules=(Module(path="t.rego", text=text, package="t"),), data={})

    async def act() -> list[object]:
        engine = Engine(sources, ["t/answer"])
        await engine.start()
        found: list[object] = []
        try:
            for one in inputs:
                try:
                    found.append(_plain(await engine.ask(one, "t/answer")))
                except NoAnswerError:
                    found.append("error")
        finally:
            await engine.end()
        return found

    return asyncio.run(act())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with opa.server(tmp_path_factory.mktemp("none")) as address:
        yield address


def _request(method: str, url: str, body: bytes) -> tuple[int, dict[str, object]]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=body, method=method)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def _there(url: str, text: str, inputs: Sequence[dict[str, int]]) -> list[object]:
    status, told = _request("PUT", f"{url}/v1/policies/t", text.encode())
    assert status == 200, told
    found: list[object] = []
    for one in inputs:
        asked = json.dumps({"input": one}).encode()
        status, told = _request("POST", f"{url}/v1/data/t/answer?strict-builtin-errors=true", asked)
        found.append(_plain(told.get("result")) if status == 200 else "error")
    return found


@pytest.mark.parametrize("function", sorted(builtins.PROVED | builtins.ORDERING))
def test_it_answers_as_opa_does(url: str, function: str) -> None:
    values = _values(function)
    text, inputs = _module(function, values), _inputs(function, values)
    here, there = _here(text, inputs), _there(url, text, inputs)
    different = [
        ([values[at] for at in asked.values()], mine, other)
        for asked, mine, other in zip(inputs, here, there, strict=True)
        if mine != other
    ]
    assert different == []
    assert any(isinstance(one, dict) for one in there)


def test_the_clock_is_the_same(url: str) -> None:
    text = "package t\n\nanswer := time.now_ns()\n"
    for said in (*_here(text, [{}]), *_there(url, text, [{}])):
        assert isinstance(said, int)
        assert abs(said - time.time_ns()) < 10e9
