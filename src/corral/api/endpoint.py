"""What a route is: the application and the OpenAPI document are made from tables of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: How an answer comes: as one document, as a document a line, or as progress and then a result, a line each.
DOCUMENT, STREAM, WORK = "document", "stream", "work"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query, or with braces around it in the path a part of that."""

    name: str
    summary: str
    kind: str = "string"
    required: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One route. `handler` is the name of the method that serves it, and of the operation."""

    method: str
    path: str
    handler: str
    summary: str
    #: Types of what is answered. Of a stream, any of them may be on a line.
    answers: Sequence[Any]
    how: str = DOCUMENT
    parameters: Sequence[Parameter] = ()
    #: The type of the body as JSON, or in words what its bytes are.
    body: type | str | None = None


def flag(name: str, summary: str) -> Parameter:
    return Parameter(name, summary, "flag")


CWD = Parameter("cwd", "the directory of the caller: without `team`, the team of it or of the nearest above is meant")
NEAREST = Parameter("nearest", "the corral.toml in `cwd` or nearest above it: if its team is not up, no other is meant")
_TEAM = Parameter("team", "the team")
TEAM = (_TEAM, CWD, NEAREST)
AGENT = (Parameter("agent", "the agent", required=True), _TEAM, CWD)
SINCE = Parameter("since", "nothing older, in unix seconds", "number")
PROCESS = (
    Parameter("process", "the id of the process", required=True),
    Parameter("agent", "only this agent's: another's id is not found"),
    Parameter("team", "only this team's"),
    CWD,
)
