"""Registering Corral's MCP server with a coding agent: what the agent's own configuration file is to say. Pure.

Whatever else the file says stays as it is, comments and layout included. A text that cannot be read, and an entry of
that name that is somebody else's, are refused: then nothing is to be changed.

The entry names no team and no agent. The server learns whose it is from the environment that it is started in, so that
agents can share a workspace, and with it the file.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from corral.domain import mcp_registration_json, mcp_registration_toml
from corral.domain.errors import RefusedError

#: What the server is called in every file.
NAME = "corral"
#: Words in a profile that stand for the program of the server, and for its arguments, as many as there are.
PROGRAM, ARGUMENTS = "{program}", "{arguments}"
#: The keys that say what is run. Of an entry that is there already, nothing else is ours to change.
_WHAT_IS_RUN = ("command", "args")
_AGAIN = "then run corral up again"


class _Form(Protocol):
    """A way to write such files: a module with these functions, which raise ValueError for a text they cannot take."""

    def read(self, text: str) -> dict[str, object]: ...

    def with_entry(self, text: str, table: str, name: str, entry: Mapping[str, object]) -> str: ...

    def with_values(self, text: str, table: str, name: str, values: Mapping[str, object]) -> str: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerFile:
    """Where a coding agent looks for its MCP servers in a workspace, and how one is written down there."""

    #: Paths in the workspace. The first that is there is used; if there is none, the first is made.
    files: tuple[str, ...]
    #: The table that has an entry for each server.
    table: str
    #: The entry, with `PROGRAM` and `ARGUMENTS` in it.
    entry: Mapping[str, object]


def registered(where: ServerFile, path: str, text: str, command: Sequence[str]) -> str | None:
    """What `text`, the contents of the file at `path`, is to be so that `command` is the server; None if it is so.

    A file that is not there yet has no text. Raises `RefusedError` if nothing may be changed.
    """
    form = _form(path)
    entry = _filled_in(where.entry, command)
    try:
        found = form.read(text)
        servers = found.get(where.table, {})
        if not isinstance(servers, dict):
            raise ValueError(f"{where.table} is not a table")
        there = servers.get(NAME)
        if there is None:
            new = form.with_entry(text, where.table, NAME, entry)
            wanted = {**found, where.table: {**servers, NAME: entry}}
        else:
            if not is_ours(there):
                raise _somebody_elses(path)
            changes = {key: entry[key] for key in _WHAT_IS_RUN if key in entry and there.get(key) != entry[key]}
            if not changes:
                return None
            new = form.with_values(text, where.table, NAME, changes)
            wanted = {**found, where.table: {**servers, NAME: {**there, **changes}}}
        # There are more ways to write a file than we know; what came of it tells whether this was one that we do.
        if form.read(new) != wanted:
            raise ValueError(f"{where.table} is written in a way that nothing can be added to")
    except ValueError as error:
        raise RefusedError(
            f"{path} was left as it is: {error}",
            f"put it right or move it away, {_AGAIN}",
        ) from None
    return new


def is_registered(where: ServerFile, path: str, text: str) -> bool:
    """True if the file at `path` has an entry of ours, whichever Corral it may start."""
    try:
        servers = _form(path).read(text).get(where.table)
    except ValueError:
        return False
    return isinstance(servers, dict) and is_ours(servers.get(NAME))


def holds_more(where: ServerFile, path: str, text: str) -> bool:
    """True if the file at `path` says anything besides what `registered` wrote, or cannot be read."""
    try:
        # OpenCode names the schema of its file in it, unasked.
        rest = {key: value for key, value in _form(path).read(text).items() if key != "$schema"}
    except ValueError:
        return True
    servers = rest.pop(where.table, {})
    return bool(rest) or not isinstance(servers, dict) or any(not is_ours(entry) for entry in servers.values())


def is_ours(entry: object) -> bool:
    """True if an entry of a file starts `corral mcp`, by whatever path."""
    if not isinstance(entry, dict):
        return False
    program, arguments = entry.get("command"), entry.get("args", [])
    words = [
        *(program if isinstance(program, list) else [program]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    if len(words) < 2 or not all(isinstance(word, str) for word in words) or words[-1] != "mcp":
        return False
    return words[-3:-1] == ["-m", "corral"] or (len(words) == 2 and os.path.basename(words[0]) == "corral")


def _form(path: str) -> _Form:
    return mcp_registration_toml if path.endswith(".toml") else mcp_registration_json


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _filled_in(entry: Mapping[str, object], command: Sequence[str]) -> dict[str, object]:
    program, *arguments = command

    def filled(value: object) -> object:
        if isinstance(value, list):
            return [word for item in value for word in (arguments if item == ARGUMENTS else [filled(item)])]
        return program if value == PROGRAM else value

    return {key: filled(value) for key, value in entry.items()}


def _somebody_elses(path: str) -> RefusedError:
    return RefusedError(
        f"{path} has an MCP server named {NAME} that is not Corral's: it was left alone",
        f"give that entry another name, {_AGAIN}",
    )
