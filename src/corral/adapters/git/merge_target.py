"""The branch that merges go into: whether it can be moved now, and moving it.

It moves from a commit that is named to one that is named, or not at all: git compares and swaps. Where it is checked
out, the working tree goes along by a fast-forward, which git does only if nothing of anybody's would be lost; a tree
with changes is left alone, and so is the branch.
"""

from __future__ import annotations

import asyncio
import os

from corral import git as command
from corral.adapters.git.worktrees import common_dir, registered_path, turn
from corral.domain.errors import UnavailableError
from corral.failpoint import point
from corral.git import GitError
from corral.ports.merging import Landing

_HEADS = "refs/heads/"
_SECONDS = 300.0
#: Submodules are no part of it: a merge moves what the repository says of them, and nothing inside them.
_CHANGES = ("status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
#: Git's own directory of a worktree has these while something is half done there: who it is about, in the first.
_HALF_DONE = (
    ("rebase-merge/head-name", "a rebase"),
    ("rebase-apply/head-name", "a rebase"),
    ("BISECT_START", "a bisection"),
)


async def land(*, repo: str, target: str, old: str, new: str) -> Landing:
    """See `Merging.merge_land`."""
    common = await common_dir(repo)
    async with turn(common):
        landing = await asyncio.to_thread(_land, repo, common, target, old, new)
    point("keeper.merge_landed")
    return landing


def busy(repo: str, common: str, target: str) -> str:
    """Why the branch cannot be moved now, in a sentence with the remedy; empty if it can."""
    for path, git_dir in _worktrees(repo, common):
        for name, what in _HALF_DONE:
            if _half_done(os.path.join(git_dir, name), target):
                return f"{what} of {target} is under way in {path}; finish it, or abort it"
    path = _checked_out_at(repo, target)
    if not path:
        return ""
    changed = [entry[3:] for entry in command.git(path, *_CHANGES).split("\0") if entry]
    if not changed:
        return ""
    first = changed[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return (
        f"{target} is checked out in {path}, with changes in no commit ({first}{more}); "
        "commit or stash them, or switch to another branch there"
    )


def _land(repo: str, common: str, target: str, old: str, new: str) -> Landing:
    now = command.git(repo, "rev-parse", "--verify", f"{_HEADS}{target}^{{commit}}").strip()
    if command.answer(repo, "merge-base", "--is-ancestor", new, now, accept=(0, 1))[0] == 0:
        return Landing(outcome="landed")
    if now != old:
        return Landing(outcome="moved", why=f"{target} is at {now[:12]} by now")
    if why := busy(repo, common, target):
        return Landing(outcome="busy", why=why)
    path = _checked_out_at(repo, target)
    try:
        if path:
            _bring_along(path, new)
        else:
            command.git(repo, "update-ref", "-m", "corral merge", f"{_HEADS}{target}", new, old)
    except GitError as error:
        now = command.git(repo, "rev-parse", "--verify", f"{_HEADS}{target}^{{commit}}").strip()
        if now != old:
            return Landing(outcome="moved", why=f"{target} is at {now[:12]} by now")
        return Landing(outcome="busy", why=error.message)
    now = command.git(repo, "rev-parse", "--verify", f"{_HEADS}{target}^{{commit}}").strip()
    if now != new:  # somebody switched to another branch in that very moment
        return Landing(outcome="moved", why=f"{target} is at {now[:12]}")
    return Landing(outcome="landed")


def _bring_along(path: str, new: str) -> None:
    """Fast-forward a working tree and its branch together, in one command that outlives us.

    Nothing is overwritten that git does not have, ignored files included, and nobody's changes are put aside.
    """
    command.git(
        path,
        *("-c", "submodule.recurse=false", "-c", "merge.log=false"),
        *("merge", "--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures", "--quiet", new),
        seconds=_SECONDS,
    )


def _checked_out_at(repo: str, target: str) -> str:
    """The worktree that has the branch checked out; empty if none that is there does."""
    for entry in command.git(repo, "worktree", "list", "--porcelain", "-z").split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in entry.strip("\0").split("\0"))
        if facts.get("branch") == _HEADS + target and "bare" not in facts:
            path = facts["worktree"]
            if os.path.isdir(path):
                return path
    return ""


def _worktrees(repo: str, common: str) -> list[tuple[str, str]]:
    """Every worktree that git knows, with git's own directory of it."""
    found = [(repo, common)]
    directory = os.path.join(common, "worktrees")
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return found
    except OSError as error:
        raise UnavailableError(f"cannot look into {directory}: {error.strerror}", "make it readable for you") from error
    linked = (os.path.join(directory, name) for name in names)
    return found + [(registered_path(git_dir), git_dir) for git_dir in linked]


def _half_done(path: str, target: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1024).strip().removeprefix(_HEADS) == target
    except OSError:
        return False  # nothing is half done there
