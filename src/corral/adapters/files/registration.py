"""Registering Corral's MCP server in a workspace, in the configuration file of the coding agent that works there.

A file is written whole or not at all, keeps its mode, and is never reached through a link: what is in a workspace is an
agent's to change. What git tracks is left alone, because it would turn up in a commit; a file that is made here is kept
out of git's sight. No agent is kept from starting by any of this: what went wrong is a sentence for a person.
"""

from __future__ import annotations

import os
import sys

from corral.adapters.files import small_files
from corral.adapters.git import exclude
from corral.agents.catalogue import profiles
from corral.domain.errors import CorralError, RefusedError
from corral.domain.mcp_registration import NAME, ServerFile, holds_more, is_registered, registered


def register(workspace: str, profile: str) -> str:
    """Have the coding agent of that profile find `corral mcp` when it works in `workspace`.

    The answer is what a person should know of it: empty if all is well, and if the agent cannot be told of servers.
    """
    where = _of(profile)
    if where is None:
        return ""
    try:
        return _register(workspace, where)
    except (CorralError, OSError) as error:
        return f"Corral's MCP server is not registered in {workspace}: {_in_words(error)}"


def holding_work(worktree: str) -> list[str]:
    """Files in a worktree that we registered in and hid from git, and that hold more than that by now."""
    known = {path: profile.mcp for profile in profiles() if profile.mcp for path in profile.mcp.files}
    return [path for path in exclude.hidden(worktree) if path not in known or _more(worktree, path, known[path])]


def _more(worktree: str, path: str, where: ServerFile) -> bool:
    try:
        with small_files.directory(os.path.join(worktree, os.path.dirname(path))) as directory:
            text, _ = small_files.read(directory, os.path.basename(path))
    except (CorralError, OSError):
        return True  # whatever it is by now, it is not what we wrote
    return holds_more(where, path, text)


def own_command() -> list[str]:
    """How the server of this very Corral is started."""
    script = os.path.join(os.path.dirname(sys.executable), "corral")
    if os.access(script, os.X_OK):
        return [script, "mcp"]
    # -P: it starts in a workspace, and a file there must not be taken for a module.
    return [sys.executable, "-P", "-m", "corral", "mcp"]


def _of(profile: str) -> ServerFile | None:
    return next((known.mcp for known in profiles() if known.name == profile), None)


def _register(workspace: str, where: ServerFile) -> str:
    path = next((file for file in where.files if os.path.lexists(os.path.join(workspace, file))), where.files[0])
    name, note = os.path.basename(path), ""
    with small_files.directory(workspace) as top, small_files.directory(os.path.dirname(path), inside=top) as directory:
        text, mode = small_files.read(directory, name)
        new = registered(where, path, text, own_command())
        if new is None:
            return ""
        if exclude.in_a_worktree(workspace):
            if exclude.is_tracked(workspace, path):
                if is_registered(where, path, text):
                    return ""  # whoever committed it may start `corral` by another path
                raise _tracked(path)
            if mode is None:
                note = _hidden(workspace, path)
        small_files.write(directory, name, new, mode)
    return note


def _hidden(workspace: str, path: str) -> str:
    """Hide a file that is about to be made; one that was there before is somebody's, and as visible as he likes."""
    try:
        exclude.exclude(workspace, path)
    except (CorralError, OSError) as error:
        return f"git sees {os.path.join(workspace, path)}, which is Corral's: {_in_words(error)}"
    return ""


def _tracked(path: str) -> RefusedError:
    return RefusedError(
        f"{path} is tracked by git, and was left alone",
        f"add a server named {NAME} with the command `corral mcp` to it, and commit that",
    )


def _in_words(error: CorralError | OSError) -> str:
    return f"{error.message}; {error.remedy}" if isinstance(error, CorralError) else str(error.strerror)
