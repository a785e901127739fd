"""Running tests of a policy: rules named `test_…`, which hold or do not, in files that `opa test` runs as well.

rego-cpp cannot replace the input while it evaluates (`rego`), so that is done from outside: a test names the question
that it is about, as `with input as NAME`, and is asked with that as its input.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from corral.adapters.policy.engine import Engine, NoAnswerError
from corral.adapters.policy.sources import Module, Sources, read
from corral.domain.policy import ENTRY_POINT, PACKAGE

_DECISION = f"{PACKAGE}/{ENTRY_POINT}"
_TEST = re.compile(r"^test_[A-Za-z0-9_]*", re.MULTILINE)
#: Where the next rule begins: a line that begins with a letter.
_NEXT_RULE = re.compile(r"^(?=[A-Za-z_])", re.MULTILINE)
_WITH = re.compile(r"\s+with\s+input\s+as\s+([A-Za-z_][A-Za-z0-9_]*)")
#: `corral.teams["my-shop"]` in parts.
_PART = re.compile(r'\["([^"]+)"\]|([A-Za-z_][A-Za-z0-9_]*)')


@dataclass(frozen=True, kw_only=True, slots=True)
class Test:
    """A test as it is written."""

    module: Module
    name: str
    #: The names of the rules that it takes for its input; it can be run with one at most.
    inputs: frozenset[str] = frozenset()

    def path(self, name: str) -> str:
        """Where a rule of its file is."""
        return "/".join([*(quoted or plain for quoted, plain in _PART.findall(self.module.package)), name])


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one test."""

    file: str
    name: str
    passed: bool
    #: Why it did not pass.
    problem: str = ""


async def compiled(sources: Sources) -> None:
    """Raise BadPolicyError unless it can be compiled."""
    engine = Engine(sources, [_DECISION])
    try:
        await engine.start()
    finally:
        await engine.end()


async def run_tests(directory: str, seconds: float) -> list[Outcome]:
    """The tests in `directory`, over the policy that ships and over what is in it; none if there is none.

    A test that takes longer than so many seconds has failed. Raises BadPolicyError for a policy that cannot be read.
    """
    sources = read(directory, tests=True, trusted=False)
    below = os.path.join(directory, "")
    tests = [test for module in sources.modules if module.path.startswith(below) for test in _tests(module)]
    if not tests:
        # Also compiled without any: whoever wrote rules and no tests learns of a mistake.
        await compiled(sources)
        return []
    wanted = {test.path(name) for test in tests for name in (test.name, *test.inputs)}
    # With the decision, also if no test is about it: what a daemon would refuse is refused here.
    engine = Engine(_without_inputs(sources), sorted({_DECISION, *wanted}))
    await engine.start()
    try:
        return [await _outcome(engine, test, seconds) for test in tests]
    finally:
        await engine.end()


async def _outcome(engine: Engine, test: Test, seconds: float) -> Outcome:
    problem = await _run(engine, test, seconds)
    return Outcome(file=test.module.path, name=test.name, passed=not problem, problem=problem)


async def _run(engine: Engine, test: Test, seconds: float) -> str:
    """Why it did not pass; empty if it did."""
    if len(test.inputs) > 1:
        return f"it has several inputs ({', '.join(sorted(test.inputs))}); make it one test for each"
    try:
        async with asyncio.timeout(seconds):
            asked: object = {}
            for name in test.inputs:
                asked = await engine.ask({}, test.path(name))
            answer = await engine.ask(asked, test.path(test.name))
    except TimeoutError:
        await engine.give_up()
        return f"no answer within {seconds:g} s"
    except NoAnswerError as error:
        return str(error)
    return "" if answer is True else "it does not hold"


def _tests(module: Module) -> Iterator[Test]:
    found: dict[str, frozenset[str]] = {}
    for rule in _NEXT_RULE.split(module.text):
        head = _TEST.match(rule)
        if head is not None:
            found[head.group()] = found.get(head.group(), frozenset()) | frozenset(_WITH.findall(rule))
    return (Test(module=module, name=name, inputs=inputs) for name, inputs in found.items())


def _without_inputs(sources: Sources) -> Sources:
    """The same, with tests that do not say what their input is."""
    modules = (replace(one, text=_WITH.sub("", one.text)) if one.is_test else one for one in sources.modules)
    return replace(sources, modules=tuple(modules))
