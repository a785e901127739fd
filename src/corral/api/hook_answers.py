"""What a hook of a coding agent is answered. The class is the schema of the OpenAPI document as well."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from corral.api import answers
from corral.api.answers import Answer
from corral.domain.hook_calls import Spoken, Verdict

#: What a hook asks for, which has no parser for JSON.
COLUMNS = "text/tab-separated-values"


class HookAnswer(Answer, frozen=True):
    """What Corral says to an event, and how the coding agent wants to hear it."""

    allowed: Annotated[bool, Meta(description="false: it must not be done now")]
    reason: Annotated[str, Meta(description="why not, for the model; empty if it may be done")]
    stdout: Annotated[str, Meta(description="what the hook is to write, in the agent's own protocol")]
    stderr: str
    exit_code: Annotated[int, Meta(description="what the hook is to end with")]
    receipt: Annotated[
        str,
        Meta(description="stdout tells of messages: say this word back once the agent has it; empty if it does not"),
    ]


class Told(Answer, frozen=True):
    """What an agent was told by its hook."""

    messages: Annotated[list[str], Meta(description="the messages that it was told of: each of them is injected now")]
    sent: Annotated[str | None, Meta(description="what was sent and could not be typed: it is observed now")]


class Registered(Answer, frozen=True):
    """Hooks in a coding agent's own file."""

    program: str
    directory: str
    note: Annotated[str, Meta(description="what a person should know of it; empty if all is well")]


def answer(verdict: Verdict, spoken: Spoken) -> Response:
    """As a document."""
    return answers.json(
        HookAnswer(
            allowed=not verdict.reason,
            reason=verdict.reason,
            stdout=spoken.stdout,
            stderr=spoken.stderr,
            exit_code=spoken.exit_code,
            receipt=verdict.receipt,
        )
    )


def columns(spoken: Spoken, receipt: str) -> Response:
    """As a line with the exit code, the size of what goes to stdout and the receipt, if there is one; then what goes to
    stdout, then what goes to stderr.
    """
    stdout = spoken.stdout.encode()
    head = "\t".join([str(spoken.exit_code), str(len(stdout)), *([receipt] if receipt else [])]).encode() + b"\n"
    return Response(head + stdout + spoken.stderr.encode(), media_type=COLUMNS)
