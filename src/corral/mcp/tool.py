"""What a tool is: told to a model in words, to its client as schemas, and done by a request to the daemon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corral.mcp import words
from corral.mcp.calls import Arguments, Call
from corral.mcp.parameters import Parameter
from corral.mcp.telling import Schema


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
