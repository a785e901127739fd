"""Registering Corral's MCP server and its hooks in a workspace, in the files of the coding agent that works there.

A file is written whole or not at all, keeps its mode, and is never reached through a link: what is in a workspace is an
agent's to change. What git tracks is left alone, because it would turn up in a commit; a file that is made here is kept
out of git's sight. That hooks could not be registered is an error; of the server it is a sentence for a person.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator, Sequence

from corral.adapters.files import small_files
from corral.adapters.git import exclude
from corral.agents.catalogue import SHIPPED, profiles
from corral.domain import hook_registration, mcp_registration_json
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.domain.hook_registration import HookFile
from corral.domain.mcp_registration import NAME, ServerFile, holds_more, is_registered, registered
from corral.own_command import own_command

_SERVER_BY_HAND = f"add a server named {NAME} with the command `corral mcp` to it, and commit that"
_HOOKS_BY_HAND = "add hooks that run `corral hook` to it, as docs/howto/agent-hooks.md shows, and commit that"


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


def register_hooks(workspace: str, profile: str) -> str:
    """Have the coding agent of that profile ask `corral hook` when it works in `workspace`.

    The answer is what a person should know though they are registered. Raises `NotFoundError` if there is no such
    directory, and `CorralError` if they are not registered for another reason.
    """
    where = _hooks_of(profile)
    if where is None:
        return ""

    def change(path: str, text: str) -> str | None:
        return hook_registration.registered(where, path, text, profile, own_command(), SHIPPED)

    def is_there(path: str, text: str) -> bool:
        return hook_registration.unregistered(where, path, text, profile) is not None

    with _told_as(workspace, "are not registered"):
        note, changed = _change(workspace, where.files, change, is_there, _HOOKS_BY_HAND)
        return note or (where.note if changed else "")


def unregister_hooks(workspace: str, profile: str) -> str:
    """Take our hooks out of the coding agent's file, and the file away if nothing else is in it. Raises as above."""
    where = _hooks_of(profile)
    if where is None:
        return ""
    with _told_as(workspace, "may still be registered"):
        in_git = exclude.in_a_worktree(workspace)
        for path in where.files:
            if not os.path.lexists(os.path.join(workspace, path)):
                continue
            with _opened(workspace, path) as (directory, name):
                text, mode = small_files.read(directory, name)
                new = hook_registration.unregistered(where, path, text, profile)
                if new is None:
                    continue
                rest = hook_registration.without_ours(where, mcp_registration_json.read(text), profile)
                is_ours = rest.keys() <= {"$schema"} and not (in_git and exclude.is_tracked(workspace, path))
                if is_ours:
                    os.unlink(name, dir_fd=directory)
                else:
                    small_files.write(directory, name, new, mode)
            if is_ours and os.path.dirname(path):
                _remove_if_empty(os.path.join(workspace, os.path.dirname(path)))
        if in_git:
            exclude.drop_unused(workspace)
    return ""


@contextlib.contextmanager
def _told_as(workspace: str, what: str) -> Iterator[None]:
    """Errors on the way come out as one about the hooks of the workspace."""
    if not os.path.isdir(workspace):
        raise NotFoundError(f"there is no directory {workspace}", "name the one that the coding agent works in")
    try:
        yield
    except CorralError as error:
        raise CorralError(f"Corral's hooks {what} in {workspace}: {error.message}", error.remedy) from error
    except OSError as error:
        raise CorralError(
            f"Corral's hooks {what} in {workspace}: {error.strerror}", "make its files readable and writable for you"
        ) from error


def _remove_if_empty(directory: str) -> None:
    """A directory that has nothing in it but for our file was made for that."""
    try:
        os.rmdir(directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise


def holding_work(worktree: str) -> list[str]:
    """Files in a worktree that we registered in and hid from git, and that hold more than that by now."""
    return [path for path in exclude.hidden(worktree) if _more(worktree, path)]


def _more(worktree: str, path: str) -> bool:
    try:
        with small_files.directory(os.path.join(worktree, os.path.dirname(path))) as directory:
            text, _ = small_files.read(directory, os.path.basename(path))
    except (CorralError, OSError):
        return True  # whatever it is by now, it is not what we wrote
    return _holds_more(path, text)


def _holds_more(path: str, text: str) -> bool:
    """True if a file that we registered in says anything that is not ours. It may have a server and hooks of ours."""
    ours = False
    for profile in profiles():
        if profile.hooks is not None and path in profile.hooks.files:
            ours = True
            try:
                rest = hook_registration.without_ours(profile.hooks, mcp_registration_json.read(text), profile.name)
            except ValueError:
                return True
            text = json.dumps({key: value for key, value in rest.items() if key != "$schema"})
    servers = [profile.mcp for profile in profiles() if profile.mcp is not None and path in profile.mcp.files]
    if servers:
        return any(holds_more(where, path, text) for where in servers)
    return not ours or text != "{}"


def _hooks_of(profile: str) -> HookFile | None:
    return next((known.hooks for known in profiles() if known.name == profile), None)


def _of(profile: str) -> ServerFile | None:
    return next((known.mcp for known in profiles() if known.name == profile), None)


def _register(workspace: str, where: ServerFile) -> str:
    def change(path: str, text: str) -> str | None:
        return registered(where, path, text, own_command("mcp"))

    def is_there(path: str, text: str) -> bool:
        return is_registered(where, path, text)

    return _change(workspace, where.files, change, is_there, _SERVER_BY_HAND)[0]


def _change(
    workspace: str,
    files: Sequence[str],
    change: Callable[[str, str], str | None],
    is_there: Callable[[str, str], bool],
    by_hand: str,
) -> tuple[str, bool]:
    """Have the first of the files that is there, or else the first, be what `change` makes of it.

    What a person should know of it, and whether anything was changed. `is_there` tells of a file that git tracks
    whether somebody did it already; `by_hand` says what he has to do otherwise.
    """
    path = next((file for file in files if os.path.lexists(os.path.join(workspace, file))), files[0])
    note = ""
    with _opened(workspace, path) as (directory, name):
        text, mode = small_files.read(directory, name)
        new = change(path, text)
        if new is None:
            return "", False
        if exclude.in_a_worktree(workspace):
            if exclude.is_tracked(workspace, path):
                if is_there(path, text):
                    return "", False  # whoever committed it may start `corral` by another path
                raise RefusedError(f"{path} is tracked by git, and was left alone", by_hand)
            if mode is None:
                note = _hidden(workspace, path)
        small_files.write(directory, name, new, mode)
    return note, True


@contextlib.contextmanager
def _opened(workspace: str, path: str) -> Iterator[tuple[int, str]]:
    """The directory of a file in a workspace, and the file's name there."""
    with small_files.directory(workspace) as top, small_files.directory(os.path.dirname(path), inside=top) as directory:
        yield directory, os.path.basename(path)


def _hidden(workspace: str, path: str) -> str:
    """Hide a file that is about to be made; one that was there before is somebody's, and as visible as he likes."""
    try:
        exclude.exclude(workspace, path)
    except (CorralError, OSError) as error:
        return f"git sees {os.path.join(workspace, path)}, which is Corral's: {_in_words(error)}"
    return ""


def _in_words(error: CorralError | OSError) -> str:
    return f"{error.message}; {error.remedy}" if isinstance(error, CorralError) else str(error.strerror)
