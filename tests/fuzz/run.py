"""The API fuzzed against its own OpenAPI document, as one identity: what it answers, and what is wrong with that.

Whatever is sent, the daemon has to answer as its document says: never with a failure of its own, never with something
that does not fit the schema, and never with more than the caller may know.
"""

import http.client
import json
import random
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

import jsonschema_rs
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.fuzz.aimed import aimed
from tests.fuzz.edges import Edge, edges
from tests.fuzz.marks import spellings
from tests.fuzz.taming import ENDLESS, LAST, LEFT_OUT, Ground, grounded, settled, tamed
from tests.fuzz.wire import Heard, Identity, ask

_ADDRESS = "http://corral"
_LINES = "application/x-ndjson"
_CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
#: Of the inside of the daemon, which no answer may show.
_INSIDE = re.compile(
    r"Traceback \(most recent|\bFile \"[^\"]*\", line \d+|site-packages|the daemon failed|"
    r"\b(?:Key|Value|Type|Attribute|Index|Unicode\w*|Overflow|Recursion|OS|Permission|FileNotFound|Assertion)Error\b|"
    r"sqlite3|root:x:0:0"
)
_UNEXPECTED = 500
#: Whoever asked for a message to be taken in no time is told that it was not, and who comes to a terminal while it goes
#: is told to try again: neither is the daemon's failure.
_MAY_WAIT = {"send", "broadcast", "show_sent", "join_session"}
#: How many of the valid requests are about something that is there.
_MEANT = 0.7


@dataclass
class Findings:
    """What is wrong, once for each operation and kind, with the first request that showed it."""

    #: How often each operation was asked for.
    asked: Counter[str] = field(default_factory=Counter)
    statuses: dict[int, int] = field(default_factory=dict)
    #: Operations that were once answered with a success.
    reached: set[str] = field(default_factory=set)
    wrong: dict[tuple[str, str], str] = field(default_factory=dict)
    #: Which marks were in an answer that was not asked for with them, by kind: the operations that told them.
    seen: dict[str, set[str]] = field(default_factory=dict)

    def add(self, operation: str, kind: str, request: str) -> None:
        self.wrong.setdefault((operation, kind), request)

    def told(self) -> str:
        return "\n".join(f"{operation}: {kind}\n    {request}" for (operation, kind), request in self.wrong.items())


class Fuzz:
    """Made-up requests as one identity, always the same for the same seed."""

    def __init__(
        self,
        document: Mapping[str, Any],
        ground: Ground,
        identity: Identity,
        marks: Mapping[str, str],
        told: Container[str] = (),
    ) -> None:
        """Of `marks`, texts by their kind, only those of the kinds `told` may be in any answer."""
        self._ground = ground
        self._marks = {kind: list(spellings(text)) for kind, text in marks.items()}
        self._told = told
        self._identity = identity
        self._schema = schemathesis.openapi.from_dict(grounded(document, ground))
        self._document = document
        self._lines = _validators(document, _LINES)
        self._documents = _validators(document, "application/json")
        self.findings = Findings()

    def run(self, examples: int, number: int = 1) -> Findings:
        """So many valid and as many invalid requests of each operation."""
        for operation in self._operations():
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                self._try_out(operation, mode, examples, number)
        return self.findings

    def run_edges(self) -> Findings:
        """Every parameter and every field with values that break programs."""
        return self._run(sorted(edges(self._document, self._ground), key=lambda edge: edge.operation in LAST))

    def run_aimed(self) -> Findings:
        """Every operation about what is somebody else's."""
        return self._run(aimed(self._document, self._ground))

    def _run(self, those: Iterable[Edge]) -> Findings:
        for edge in those:
            told = f"{edge.what}: {edge.method} {edge.target[:200]} {(edge.body or b'')[:200]!r}"
            headers = {"content-type": "application/json"}
            heard = self._heard(edge.operation, edge.method, edge.target, headers, edge.body, told)
            asked = _asked(edge.target, edge.body)
            if heard is not None and self._is_well(edge.operation, heard, told, asked):
                for wrong in self._wrong_document(edge.operation, heard):
                    self.findings.add(edge.operation, wrong, told)
        return self.findings

    def _wrong_document(self, name: str, heard: Heard) -> Iterator[str]:
        schema = self._documents[name if heard.status == 200 else ""]
        try:
            said = json.loads(heard.body)
        except ValueError:
            yield f"{heard.status} without JSON: {heard.body[:200]!r}"
            return
        for error in schema.iter_errors(said):
            yield f"an answer does not fit: {error.message[:200]}: {heard.body[:200]!r}"

    def _operations(self) -> Iterator[Any]:
        found: list[Any] = [result.ok() for result in self._schema.get_all_operations()]  # type: ignore[union-attr]
        every = {operation.definition.raw["operationId"]: operation for operation in found}
        last = [every.pop(name) for name in LAST]
        yield from (operation for name, operation in every.items() if name not in LEFT_OUT)
        yield from last

    def _try_out(self, operation: Any, mode: GenerationMode, examples: int, number: int) -> None:
        raw = operation.definition.raw
        name = raw["operationId"]
        takes_any = all(parameter["in"] == "path" for parameter in raw["parameters"]) and "requestBody" not in raw
        if mode == GenerationMode.NEGATIVE and takes_any:
            return  # nothing of it could be wrong
        # Of the valid requests, most mean something that there is.
        chance = random.Random(f"{number} {name}")

        @seed(number)
        @settings(
            max_examples=examples,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def requested(case: Any) -> None:
            meant = mode == GenerationMode.POSITIVE and chance.random() < _MEANT
            self._one(name, case, meant=meant)

        requested()

    def _one(self, name: str, case: Any, *, meant: bool) -> None:
        if meant:
            case.path_parameters, case.query, case.body = settled(
                self._ground, case.path_parameters or {}, case.query or {}, case.body
            )
        case.query, case.body = tamed(name, self._ground, case.query or {}, case.body)
        prepared = requests.Request(**case.as_transport_kwargs(base_url=_ADDRESS)).prepare()
        told = f"{prepared.method} {prepared.path_url} {prepared.body!r}"[:600]
        given: Any = prepared.body
        body: bytes | None = given.encode() if isinstance(given, str) else given
        headers = {name: str(value) for name, value in prepared.headers.items()}
        heard = self._heard(name, prepared.method or "", prepared.path_url, headers, body, told)
        if heard is None or not self._is_well(name, heard, told, _asked(prepared.path_url, body)):
            return
        answer = Response(heard.status, heard.headers, heard.body, prepared, heard.seconds, verify=False)
        try:
            case.validate_response(answer, checks=_CHECKS)
        except FailureGroup as group:
            for failure in group.exceptions:
                shown = f"{told}\n    {heard.body[:300]!r}"
                self.findings.add(name, f"{type(failure).__name__}: {str(failure)[:300]}", shown)

    def _heard(
        self, name: str, method: str, target: str, headers: dict[str, str], body: bytes | None, told: str
    ) -> Heard | None:
        self.findings.asked[name] += 1
        try:
            return ask(self._identity, method, target, headers, body, endless=name in ENDLESS)
        except (OSError, http.client.HTTPException) as error:
            # A stream that never ends may have nothing to say yet.
            if not (name in ENDLESS and isinstance(error, TimeoutError)):
                self.findings.add(name, f"no answer: {type(error).__name__}", told)
            return None

    def _is_well(self, name: str, heard: Heard, told: str, asked: str) -> bool:
        """What can be said without the schemas of documents. True if there is more to look at."""
        findings = self.findings
        findings.statuses[heard.status] = findings.statuses.get(heard.status, 0) + 1
        if heard.status == 200:
            findings.reached.add(name)
        text = heard.body.decode("utf-8", "replace")
        if heard.status >= _UNEXPECTED and not (name in _MAY_WAIT and b'"code":"unavailable"' in heard.body):
            findings.add(name, f"status {heard.status}: {text[:300]}", told)
            return False
        for wrong in self._leaks(name, heard, text, asked):
            findings.add(name, wrong, told)
        if heard.headers.get("content-type") == [_LINES]:
            for wrong in self._wrong_lines(name, text):
                findings.add(name, wrong, told)
            return False
        return True

    def _leaks(self, name: str, heard: Heard, text: str, asked: str) -> Iterator[str]:
        whole = text + str(heard.headers)
        for kind, texts in self._marks.items():
            found = next((one for one in texts if one in whole), None)
            if found is None or texts[0] in asked:  # who says it knows it
                continue
            self.findings.seen.setdefault(kind, set()).add(name)
            if kind not in self._told:
                place = max(0, whole.index(found) - 150)
                yield f"tells the {kind} of somebody else: {whole[place : place + 300]}"
        if heard.status != 200 and (inside := _INSIDE.search(text)):
            yield f"tells of the inside ({inside[0]}): {text[:300]}"

    def _wrong_lines(self, name: str, text: str) -> Iterator[str]:
        for line in filter(None, text.split("\n")):
            try:
                said = json.loads(line)
            except ValueError:
                yield f"a line is no JSON: {line[:300]}"
                continue
            for error in self._lines[name].iter_errors(said):
                yield f"a line does not fit: {error.message[:200]}: {line[:200]}"
            error = said.get("error") if isinstance(said, dict) else None
            if error and (found := _INSIDE.search(line)):
                yield f"tells of the inside ({found[0]}): {line[:300]}"


def _asked(target: str, body: bytes | None) -> str:
    """All that a request says, in plain letters."""
    return unquote_plus(target) + (body or b"").decode("utf-8", "replace")


def _validators(document: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What checks the answers of that kind, by operation; of every failure, under the empty name."""
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    schemas = {
        operation["operationId"]: content[kind]["schema"]
        for operation in operations
        if kind in (content := operation["responses"]["200"]["content"])
    }
    schemas[""] = operations[0]["responses"]["default"]["content"]["application/json"]["schema"]
    return {
        name: jsonschema_rs.validator_for({**schema, "components": document["components"]})
        for name, schema in schemas.items()
    }
