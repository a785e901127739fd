"""Rego: compiled once, then asked as often as wanted. Loaded by `engine_process` and by nobody else.

rego-cpp brings an allocator of its own. In a process that has other C++ in it (re2, in the daemon), what one of them
allocates is freed by the other: it crashes or leaks, depending on which was loaded first. So it is alone in a process.

regopy wraps rego-cpp. What it cannot do it tells as text made for its own developers, as an answer that is no JSON, or
not at all (an undefined variable is undefined, not an error), so whoever asks treats all of that alike: as no answer.
`with` it cannot do at all: it brings the whole process down (regopy 1.5.2, where a rule behind it uses a function), so
files that have it are refused before it sees them. Built-ins that it lacks, or that answer otherwise than OPA's, are
refused as well (`builtins`); those that fail are an error, and not undefined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import regopy

from corral.adapters.policy import builtins
from corral.adapters.policy.calls import Call, foreign_calls, name_of
from corral.adapters.policy.sources import Module
from corral.domain.errors import BadPolicyError

_WITH = re.compile(r"^[^#\n]*\swith\s+(?:input|data)\b", re.MULTILINE)
_ERROR = re.compile(r"\(error \d+:.*?\|(\d+)\|\d+")
_MESSAGE = re.compile(r"\(errormsg \d+:([^\n]*)\)")


_WITH_REMEDY = "in a test, write: with input as NAME, where NAME is a rule of that file; elsewhere, leave it out"


class EvaluationError(Exception):
    """The engine came to no answer: rules contradict each other, or a built-in failed."""


class Rego:
    """A compiled policy."""

    def __init__(self, modules: Sequence[Module], data: dict[str, object], entry_points: Sequence[str]) -> None:
        """Compile it. Raises BadPolicyError if it is no Rego."""
        self._interpreter = regopy.Interpreter()
        # It writes to standard error otherwise, which is the daemon's log.
        self._interpreter.log_level = regopy.LogLevel.NONE
        # Otherwise a rule that forbids is left out when a built-in in it fails.
        self._interpreter.strict_built_in_errors = True
        for number, module in enumerate(modules):
            if found := _WITH.search(module.text):
                line = module.text.count("\n", 0, found.end()) + 1
                raise BadPolicyError(
                    f"{module.path}:{line} uses `with` in a way that this engine cannot do", _WITH_REMEDY
                )
            try:
                self._interpreter.add_module(name_of(number), module.text)
            except regopy.RegoError as error:
                raise _no_rego(module, str(error)) from None
        # As UTF-8: what comes escaped stays so, and is then another text than the same word of an input.
        self._interpreter.add_data_json(json.dumps(data, ensure_ascii=False))
        try:
            self._bundle = self._interpreter.build(None, list(entry_points))
            compiled = self._bundle.ok()
        except regopy.RegoError:
            compiled = False
        if not compiled:
            names = ", ".join(module.path for module in modules)
            raise BadPolicyError(f"this policy cannot be compiled: {names}", "corral policy test DIR tries your files")
        for call in self._calls():
            module = modules[call.module]
            if not builtins.may_use(call.function, ships=module.ships):
                raise self._not_usable(module, call)

    def ask(self, document: object, entry_point: str) -> object:
        """What the policy says of this input; None if that is undefined. Raises EvaluationError without an answer.

        Texts in the input must be plain (`asking.encoded`): rego-cpp takes them for the inside of a JSON string.
        """
        try:
            self._interpreter.set_input(regopy.Input(document))
            output = self._interpreter.query_bundle_entrypoint(self._bundle, entry_point)
            if not output.ok():
                raise EvaluationError("the rules contradict each other, or one of them failed")
            told = str(output)
            return None if told == "undefined" else _only(json.loads(told, object_pairs_hook=_each_once))
        except (regopy.RegoError, ValueError, RecursionError, TypeError) as error:
            # ValueError: an answer with an error in the middle of it is no JSON.
            raise EvaluationError(f"the engine failed: {type(error).__name__}") from None

    def _calls(self) -> list[Call]:
        try:
            return foreign_calls(self._interpreter, self._bundle)
        except (OSError, ValueError, regopy.RegoError) as error:  # ValueError: not all of it was written
            why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise BadPolicyError(
                f"which functions this policy uses cannot be looked at: {why}",
                "it is written down for a moment: is there room where temporary files go (TMPDIR, else /tmp)?",
            ) from None

    def _not_usable(self, module: Module, call: Call) -> BadPolicyError:
        what = builtins.WRITTEN.get(call.function, call.function)
        why = (
            "which is not known to answer here as OPA does"
            if self._interpreter.is_builtin(call.function)
            else "which is neither a function of the policy nor a built-in of its engine"
        )
        return BadPolicyError(f"{module.path}:{call.line} uses {what}, {why}", builtins.remedy(call.function))


def _only(results: object) -> object:
    """The one value in `{"expressions": [VALUE]}`."""
    expressions = results.get("expressions") if isinstance(results, dict) else None
    return expressions[0] if isinstance(expressions, list) and expressions else None


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """rego-cpp writes texts as they are. One with a quote in it must not add a second `allow` to an answer."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _no_rego(module: Module, told: str) -> BadPolicyError:
    place, message = _ERROR.search(told), _MESSAGE.search(told)
    line = module.text.encode()[: int(place.group(1))].count(b"\n") + 1 if place else 1
    return BadPolicyError(
        f"{module.path}:{line} is no Rego: {message.group(1) if message else 'it cannot be read'}",
        "mend it, then try it: corral policy test DIR",
    )
