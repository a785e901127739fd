"""What counts as work in a worktree: what would be lost with it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from itertools import pairwise

from corral.adapters.files.registration import holding_work
from corral.adapters.git.branches import Survey
from corral.adapters.git.command import git
from corral.domain.copies import THEIRS, copy_beside, is_copy
from corral.domain.errors import CorralError
from corral.repository import STATUS

#: Moves of HEAD that put something else in the place of what was there. All other moves only leave it.
_REPLACING = ("commit (amend)", "rebase", "pull --rebase")
_IN_ALL_WORKTREES = ("refs/heads", "refs/tags", "refs/stash")
_COMMITS = ("commit that is nowhere else", "commits that are nowhere else")
#: So many of the last moves of HEAD are looked at.
_MOVES = 10_000
#: So many lost commits are named; from the newest, the others are found.
_NAMED = 3


async def work_in(path: str, branch: str) -> str:
    """What would be lost with the worktree at `path`, made for `branch`, in words; empty if nothing would be."""
    try:
        changes = (await git(path, *STATUS)).splitlines()
        hidden = _hidden_from_status(path, (await git(path, "ls-files", "-v", "-z")).split("\0"))
        commits = await commits_nowhere_else(path, await _tips(path, branch), branch)
        # Hidden by us, and so for us to look at: they may have become more than a registration.
        ours = await asyncio.to_thread(holding_work, path)
    except CorralError as error:
        return f"contents that cannot be checked ({error.message})"
    untracked = _untracked(changes)
    return _counted(
        (len(changes) - untracked, "changed file", "changed files"),
        (untracked + len(ours), "untracked file", "untracked files"),
        (hidden, "file whose changes git does not show", "files whose changes git does not show"),
        (commits, *_COMMITS),
    )


async def lost_commits(path: str, branch: str) -> str:
    """The newest commits that would be lost with the worktree, by which git can still show them for a while; empty if
    there are none.
    """
    found = await _nowhere_else(path, await _tips(path, branch), branch, "--abbrev-commit", f"--max-count={_NAMED + 1}")
    names = found.split()
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


async def _tips(path: str, branch: str) -> list[str]:
    """What led to the commits of a worktree: HEAD as well as the branch, since it may be detached, and what HEAD was
    moved away from.
    """
    tips = ["HEAD", *([branch] if await branch_exists(path, branch) else [])]
    if _copy_of(path):
        tips += await _own_refs(path, os.path.dirname(branch))
    moves = await git(path, "log", "-g", f"-n{_MOVES}", "--no-show-signature", "--format=%H %gs", "HEAD")
    return [*tips, *left_behind(moves.split("\n")[:-1])]  # in a message anything can end a line, for Python


async def uncommitted_in(path: str) -> str:
    """What of the worktree at `path` is in no commit, in words; empty if all of it is."""
    changes = (await git(path, *STATUS)).splitlines()
    untracked = _untracked(changes)
    return _counted(
        (len(changes) - untracked, "changed file", "changed files"), (untracked, "untracked file", "untracked files")
    )


def _untracked(changes: Sequence[str]) -> int:
    return sum(line.startswith("??") for line in changes)


def _counted(*counts: tuple[int, str, str]) -> str:
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def left_behind(moves: Sequence[str]) -> list[str]:
    """Commits that HEAD was moved away from, out of its reflog (`COMMIT why`, newest first). Pure.

    The reflog goes with the worktree, and may be all that knows of a commit on no branch. What was amended or rebased
    lives on in what replaced it: counted, it would keep nearly every worktree.
    """
    found = {}
    for newer, older in pairwise(moves):
        if not newer.partition(" ")[2].startswith(_REPLACING):
            found[older.partition(" ")[0]] = True
    return list(found)


async def branch_exists(directory: str, branch: str) -> bool:
    return bool((await git(directory, "branch", "--list", "--format=%(refname:short)", branch)).strip())


async def commits_nowhere_else(directory: str, tips: Sequence[str], branch: str) -> int:
    """How many commits of `tips` no branch but `branch`, no tag and no remote has."""
    return int(await _nowhere_else(directory, tips, branch, "--count"))


async def _nowhere_else(directory: str, tips: Sequence[str], branch: str, *how: str) -> str:
    # git matches --exclude below refs/heads, where it is of branches.
    elsewhere = ["--not", f"--exclude={branch}", "--branches", "--tags", "--remotes"]
    if _copy_of(directory):  # what is in it alone goes with it
        elsewhere = ["--not", f"--exclude={THEIRS}heads/{branch}", f"--glob={THEIRS}*"]
    feed = "".join(f"{tip}\n" for tip in tips).encode()
    return await git(directory, "rev-list", *how, "--ignore-missing", "--stdin", *elsewhere, feed=feed)


async def work_not_handed_in(copy: str) -> str:
    """The commits that are in a copy, and not in the repository as far as is known there, in words."""
    count = int(await git(copy, "rev-list", "--count", "--all", "--not", f"--glob={THEIRS}*"))
    return _counted((count, *_COMMITS))


async def forget_branch(repo: str, known: Survey, branch: str, path: str, *, discard: bool = False) -> None:
    """Delete the branch of a worktree that was at `path`, unless it has commits of its own or is in use elsewhere."""
    if branch not in known.branches or known.holder(branch, path):
        return
    if discard or not await commits_nowhere_else(repo, [branch], branch):
        await git(repo, "branch", "-D", branch)


def _copy_of(directory: str) -> str:
    """The copy of somebody's repository that this is, or a worktree of; empty if it is neither."""
    copy = directory if is_copy(directory) else copy_beside(directory)
    return copy if os.path.isdir(copy) else ""


async def _own_refs(path: str, branches: str) -> list[str]:
    """What else there is in a copy that would be lost with its last worktree: all but the `branches` of agents."""
    listing = await git(path, "for-each-ref", "--format=%(objectname) %(refname)", *_IN_ALL_WORKTREES)
    found = (line.split(" ") for line in listing.split("\n")[:-1])
    return [name for name, ref in found if not ref.startswith(f"refs/heads/{branches}/")]


def _hidden_from_status(path: str, listing: list[str]) -> int:
    """Files that git was told not to look at, and that are there all the same: they may hold anything."""
    marked = [entry[2:] for entry in listing if entry[:1] == "S" or entry[:1].islower()]
    return sum(os.path.lexists(os.path.join(path, name)) for name in marked)
