"""Hooks of an agent's worktree: put in force, and taken away without a trace in the person's repository.

`core.hooksPath` is set for one worktree alone, in git's `config.worktree` of it. The caller holds the repository's turn
(`worktrees.turn`): everything here reads and then writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys

import corral
from corral.adapters.git import worktree_config
from corral.adapters.git.command import git
from corral.adapters.git.hook_scripts import HOOKS, ONLY_IF_THEIRS, Hook, script
from corral.adapters.git.worktree_config import Configuration
from corral.adapters.git.worktrees import Worktree
from corral.domain.enforcement import Enforcement
from corral.domain.errors import CorralError

_HOOKS_PATH = "core.hooksPath"
#: The first that asks a hook before a ref moves.
_OLDEST_GIT = (2, 28)


class Guard:
    """The hooks of one agent's worktree, in a directory of its own."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    async def put(self, path: str, worktree: Worktree, enforcement: Enforcement, settings: dict[str, str]) -> str:
        """Have the hooks in force in the worktree at `path`. What a person should know of it; empty if all is well."""
        version = await _git_version(path)
        if version < _OLDEST_GIT:
            shown = ".".join(map(str, version))
            return f"leases are not enforced in its worktree: git {shown} is too old, 2.28 or later is needed"
        said = await worktree_config.read(path)
        default = os.path.join(os.path.realpath(worktree.common), "hooks")
        hook = Hook(
            python=sys.executable,
            library=os.path.dirname(os.path.dirname(os.path.abspath(corral.__file__))),
            default=default,
            unreachable=enforcement.unreachable,
            settings=tuple(
                {
                    **settings,
                    "ignore_case": "1" if _ignores_case(path, said) else "0",
                    "unreachable": enforcement.unreachable,
                    "stash": enforcement.stash,
                }.items()
            ),
        )
        theirs = os.path.join(path, os.path.expanduser(said.without_worktree(_HOOKS_PATH)) or default)
        try:
            await asyncio.to_thread(self._write, script(hook), theirs)
        except OSError as error:
            raise CorralError(
                f"cannot write the hooks of the worktree {path}: {error.filename}: {error.strerror}",
                "make CORRAL_HOME writable, or have none: worktrees = false below [enforcement]",
            ) from error
        if said.of_worktree(_HOOKS_PATH) != self._directory:
            await worktree_config.switch_on(worktree.common, said)
            await git(path, "config", "--worktree", _HOOKS_PATH, self._directory)
        return ""

    async def take_away(self, common: str) -> None:
        """Leave nothing of the hooks, in the repository whose git directory `common` is, nor elsewhere."""
        await worktree_config.unset_everywhere(common, _HOOKS_PATH, self._directory)
        await worktree_config.switch_off_if_unused(common)
        await asyncio.to_thread(self._remove)

    def _write(self, text: str, theirs: str) -> None:
        """Write it all anew; a hook that runs meanwhile finds the old one or the new one."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        wanted = {*HOOKS, *(name for name in ONLY_IF_THEIRS if os.access(os.path.join(theirs, name), os.X_OK))}
        for name in set(os.listdir(self._directory)) - wanted:
            os.unlink(os.path.join(self._directory, name))
        raw = text.encode("utf-8", "surrogateescape")
        for name in wanted:
            self._write_hook(os.path.join(self._directory, name), raw)

    def _write_hook(self, path: str, raw: bytes) -> None:
        """A file of its own for each, not to be written to: who copies a hook over one is told, or loses but one."""
        try:
            with open(path, "rb") as file:
                if file.read() == raw and not os.path.islink(path):
                    return
        except OSError:
            pass  # it is not there, or nothing that could be left as it is
        new = f"{path}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        with open(new, "xb") as file:
            file.write(raw)
            os.fchmod(file.fileno(), 0o500)
        os.replace(new, path)

    def _remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        for above in (os.path.dirname(self._directory), os.path.dirname(os.path.dirname(self._directory))):
            with contextlib.suppress(OSError):  # others have theirs there
                os.rmdir(above)


async def _git_version(directory: str) -> tuple[int, ...]:
    """The first two numbers of git's version; what has none is new enough."""
    words = (await git(directory, "version")).split()
    numbers = words[2].split(".")[:2] if len(words) > 2 else []
    return tuple(map(int, numbers)) if all(map(str.isdigit, numbers)) else _OLDEST_GIT


def _ignores_case(path: str, said: Configuration) -> bool:
    """True if two names that differ in case alone are one file there: because git was told so, or because they are."""
    return said.get("core.ignorecase") == "true" or os.path.lexists(os.path.join(path, ".GIT"))
