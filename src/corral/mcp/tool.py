"""What a tool is: told to a model in words, to its client as schemas, and done by a request to the daemon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corral.mcp import words
from corral.mcp.calls import LONGEST_WAIT, Arguments, Call
from corral.mcp.parameters import NUMBER, Parameter
from corral.mcp.telling import Schema


def waiting(what: str, default: float = 0.0) -> Parameter:
    """How long a call may wait, which is the same for all that can; `what` goes on from "Seconds"."""
    about = f"Seconds {what}: {default:g} without it, at most {LONGEST_WAIT:g}."
    return Parameter(name="wait", kind=NUMBER, default=default, least=0, most=LONGEST_WAIT, about=about)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool."""

    name: str
    #: The command that does the same.
    cli: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    #: What it answers with.
    result: Schema
    call: Callable[[Arguments], Call]
    words: Callable[[words.Record], str]
    #: Under which name it tells the list that the daemon answers with: an answer must be an object.
    listed_as: str = ""
    #: It changes nothing.
    reads_only: bool = False
    #: It may undo or end something.
    destroys: bool = False
