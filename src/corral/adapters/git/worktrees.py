"""What git knows of a repository's worktrees, and which branch each of ours was made for."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass

from corral.adapters.git.branches import Names, Survey, guess
from corral.adapters.git.command import git
from corral.domain.errors import UnavailableError
from corral.domain.repository import BRANCHES
from corral.git import GitError

log = logging.getLogger("corral.keeper")

#: In git's own directory for a worktree, and gone with it: the branch that the worktree was made for. Its HEAD does not
#: tell, because an agent may switch to another branch.
_NOTE = "corral-branch"

#: How long to wait while another instance makes something. Removing does not wait as long: `down` must come to an end.
_TURN_SECONDS = 300.0
_REMOVING_TURN_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A linked worktree that is there."""

    #: What git keeps for this worktree alone.
    git_dir: str
    #: What it shares with the repository.
    common: str


async def common_dir(directory: str) -> str:
    """The git directory of the repository that `directory` is in."""
    return os.path.realpath((await git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir")).strip())


async def worktree_at(path: str) -> Worktree | None:
    """The linked worktree whose top is `path`; None if it is anything else, also a directory inside a repository."""
    found = await git(path, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-prefix")
    git_dir, common, prefix = (found + "\n\n").split("\n")[:3]
    if prefix or not git_dir or os.path.realpath(git_dir) == os.path.realpath(common):
        return None
    return Worktree(git_dir=git_dir, common=common)


async def survey(common: str, where: str) -> Survey:
    """Look at branches and worktrees of the repository that `where` is in."""
    listing = await git(where, "worktree", "list", "--porcelain", "-z")
    refs = await git(where, "for-each-ref", "--format=%(refname)", f"refs/heads/{BRANCHES}")
    holders, worktrees = _noted(common), []
    for entry in listing.split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in entry.strip("\0").split("\0"))
        # git writes down what a path really is, and ours may lead through a link.
        path = facts.get("worktree", "")
        worktrees.append(path)
        if branch := facts.get("branch", "").removeprefix("refs/heads/"):
            holders[branch] = path
    branches = [ref.removeprefix("refs/heads/") for ref in refs.split("\n")[:-1]]
    return Survey(common=common, branches=branches, worktrees=worktrees, holders=holders)


def _noted(common: str) -> dict[str, str]:
    """branch → the worktree that was made for it, for every worktree with a note."""
    found = {}
    for git_dir in _git_dirs(common):
        branch = _read(os.path.join(git_dir, _NOTE))
        if branch:
            found[branch] = registered_path(git_dir)
    return found


def git_dirs_of(common: str, path: str) -> list[str]:
    """What git keeps for the worktree at `path` (real), whether or not the directory is there."""
    return [git_dir for git_dir in _git_dirs(common) if registered_path(git_dir) == path]


def all_worktrees(common: str) -> list[str]:
    """Where git has worktrees written down, whether or not they are there."""
    return [registered_path(git_dir) for git_dir in _git_dirs(common) if _read(os.path.join(git_dir, "gitdir"))]


def _git_dirs(common: str) -> list[str]:
    directory = os.path.join(common, "worktrees")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return [os.path.join(directory, name) for name in os.listdir(directory)]
    return []


def registered_path(git_dir: str) -> str:
    """Where git has the worktree written down that it keeps `git_dir` for.

    git writes what a path really was. What is a link there by now was put there since, and is not followed.
    """
    return os.path.dirname(os.path.normpath(os.path.join(git_dir, _read(os.path.join(git_dir, "gitdir")))))


def link_on_the_way(path: str) -> str:
    """The symbolic link that the canonical `path` of a worktree of ours is, or is below, by now; else empty."""
    for place in (os.path.dirname(path), path):
        if os.path.islink(place):
            return place
    # Above it nothing of ours is made or removed; but what is there may have become a link as well.
    return "" if os.path.realpath(path) == path else os.path.dirname(os.path.dirname(path))


async def note_branch(path: str, branch: str) -> None:
    """Write down which branch the worktree at `path` was made for. Without the note it can still be guessed."""
    try:
        worktree = await worktree_at(path)
        if worktree is not None:
            _write(os.path.join(worktree.git_dir, _NOTE), branch + "\n")
    except (OSError, GitError) as error:
        log.warning("cannot note the branch of %s: %s", path, error)


async def branch_of(path: str, worktree: Worktree, names: Names) -> str:
    """The branch that the worktree at `path` (real) was made for, whatever it is on now."""
    noted = _read(os.path.join(worktree.git_dir, _NOTE))
    # An agent can write there as well: only a name of its own is believed.
    if noted in names:
        return noted
    head = _read(os.path.join(worktree.git_dir, "HEAD")).removeprefix("ref: refs/heads/")
    return guess(names, await survey(worktree.common, path), path, head)


def deleted_branch_of(path: str, known: Survey, names: Names) -> str:
    """As `branch_of`, for a worktree whose directory is gone."""
    noted = [branch for branch in (names.own, names.plain) if known.holders.get(branch) == path]
    return noted[0] if noted else guess(names, known, path, "")


@contextlib.asynccontextmanager
async def turn(common: str, *, removing: bool = False) -> AsyncIterator[None]:
    """One at a time, over all instances: parallel `worktree add`s race on git's locks, and for a branch.

    The lock is on git's directory itself, so that nothing is made for it and nothing stays.
    """
    directory = os.open(common, os.O_RDONLY | os.O_DIRECTORY)
    try:
        await _lock(directory, common, _REMOVING_TURN_SECONDS if removing else _TURN_SECONDS)
        yield
    finally:
        os.close(directory)


async def _lock(directory: int, common: str, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if loop.time() > until:
                raise UnavailableError(
                    f"another instance is at work in {common} and does not end", "is one of its hooks hanging?"
                ) from None
            await asyncio.sleep(0.01)
        except OSError as error:
            log.warning("%s cannot be locked (%s); going on without", common, error.strerror)
            return


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _read(path: str) -> str:
    """The text of a small file; empty if there is none. An agent can put anything there: nothing is waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(handle, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(4096).strip() if stat.S_ISREG(os.fstat(handle).st_mode) else ""
