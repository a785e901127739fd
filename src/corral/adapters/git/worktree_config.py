"""What git is told for one worktree alone, and what a repository needs for that.

git reads `config.worktree` of a worktree once the repository has `extensions.worktreeConfig`. If that is not set, it is
set here, and unset with the last worktree that needed it; a line `corral.worktreeConfig` beside it says that it was
ours. While it is set git takes `core.bare` and `core.worktree` of the repository as every worktree's, so these are
moved to where only the repository itself reads them, and back.

Every step can be the last one: whoever comes next does the rest. The caller holds the repository's turn.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from corral.adapters.git.command import git
from corral.git import GitError

_EXTENSION = "extensions.worktreeConfig"
#: Says that the extension was switched on by us.
_OURS = "corral.worktreeConfig"
#: What git has for one worktree alone, and for the repository's own directory.
_FILE = "config.worktree"
_OF_ONE_WORKTREE = ("core.bare", "core.worktree")


@dataclass(frozen=True, slots=True)
class Configuration:
    """All that is said: scope, key in lower case, and value, the last one first."""

    entries: Sequence[tuple[str, str, str]]

    def get(self, key: str) -> str:
        """What counts; empty if nothing is said."""
        return next((value for _, name, value in self.entries if name == key.lower()), "")

    def of_worktree(self, key: str) -> str:
        """What is said for this worktree alone."""
        return self._in_scopes(key, ("worktree",))

    def of_repository(self, key: str) -> str:
        return self._in_scopes(key, ("local",))

    def without_worktree(self, key: str) -> str:
        """What would count if nothing were said for this worktree, nor on the command line, as our git has it."""
        return self._in_scopes(key, ("local", "global", "system"))

    def _in_scopes(self, key: str, scopes: Sequence[str]) -> str:
        found = (value for scope, name, value in self.entries if name == key.lower() and scope in scopes)
        return next(found, "")


async def read(path: str) -> Configuration:
    """What git is told in the worktree at `path`."""
    words = (await git(path, "config", "--list", "--show-scope", "-z")).split("\0")
    entries = []
    for scope, said in zip(words[::2], words[1::2], strict=False):
        # A key without a value (`[core] bare`) means true.
        key, line_feed, value = said.partition("\n")
        entries.append((scope, key, value if line_feed else "true"))
    return Configuration(entries[::-1])


async def switch_on(common: str, said: Configuration) -> None:
    """Have git read what each worktree of the repository has for itself."""
    shared, own = os.path.join(common, "config"), os.path.join(common, _FILE)
    is_on = said.of_repository(_EXTENSION).lower() in ("true", "yes", "on", "1")
    if is_on and not said.of_repository(_OURS):
        return
    moved = {key: value for key in _OF_ONE_WORKTREE if (value := said.of_repository(key)) not in ("", "false")}
    # What the repository itself reads is there before it is missed elsewhere.
    for key, value in moved.items():
        await _set(common, own, key, value)
    if not is_on:
        await _set(common, shared, _OURS, "added")
        await _set(common, shared, _EXTENSION, "true")
    for key in moved:
        await _unset(common, shared, key)


async def unset_everywhere(common: str, key: str, value: str) -> None:
    """Take back what was said for a worktree: also for those that were made in it, which git gives the same to."""
    for file in _worktree_files(common):
        if os.path.exists(file) and await _get(common, file, key) == value:
            await _unset(common, file, key)
            _remove_if_empty(file)


async def switch_off_if_unused(common: str) -> None:
    """Unset the extension, if we had set it and no worktree has anything for itself any more."""
    shared, own = os.path.join(common, "config"), os.path.join(common, _FILE)
    if not await _get(common, shared, _OURS) or any(map(os.path.exists, _worktree_files(common))):
        return
    back = {key: value for key in _OF_ONE_WORKTREE if (value := await _get(common, own, key))}
    for key, value in back.items():
        await _set(common, shared, key, value)
    for key in back:
        await _unset(common, own, key)
    _remove_if_empty(own)
    if not os.path.exists(own):  # else somebody has put something into it, and needs the extension
        await _unset(common, shared, _EXTENSION)
    await _unset(common, shared, _OURS)


def _worktree_files(common: str) -> list[str]:
    directory = os.path.join(common, "worktrees")
    with contextlib.suppress(FileNotFoundError):
        return [os.path.join(directory, name, _FILE) for name in os.listdir(directory)]
    return []


async def _get(common: str, file: str, key: str) -> str:
    """What a file says; empty if it says nothing, or is not there."""
    try:
        return (await git(common, "config", "--file", file, key)).removesuffix("\n")
    except GitError:
        return ""


async def _set(common: str, file: str, key: str, value: str) -> None:
    await git(common, "config", "--file", file, key, value)


async def _unset(common: str, file: str, key: str) -> None:
    if await _get(common, file, key):
        await git(common, "config", "--file", file, "--unset-all", key)


def _remove_if_empty(file: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        if os.path.getsize(file) == 0:
            os.unlink(file)
