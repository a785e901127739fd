"""What git knows of a repository's worktrees, and which branch each of ours was made for."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

from corral.adapters.git.branches import Names, Survey, guess
from corral.adapters.git.command import git
from corral.domain.errors import UnavailableError
from corral.git import GitError
from corral.repository import BRANCHES

log = logging.getLogger("corral.keeper")

#: In git's own directory for a worktree, and gone with it: the branch that the worktree was made for. Its HEAD does not
#: tell, because an agent may switch to another branch.
_NOTE = "corral-branch"

_TURN_SECONDS = 300.0


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
    branches = [ref.removeprefix("refs/heads/") for ref in refs.splitlines()]
    return Survey(common=common, branches=branches, worktrees=worktrees, holders=holders)


def _noted(common: str) -> dict[str, str]:
    """branch → the worktree that was made for it, for every worktree with a note."""
    found = {}
    directory = os.path.join(common, "worktrees")
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            branch = _read(os.path.join(directory, name, _NOTE))
            if branch:
                dot_git = os.path.join(directory, name, _read(os.path.join(directory, name, "gitdir")))
                found[branch] = os.path.realpath(os.path.dirname(dot_git))
    return found


async def note_branch(path: str, branch: str) -> None:
    """Write down which branch the worktree at `path` was made for. Without the note it can still be guessed."""
    try:
        worktree = await worktree_at(path)
        if worktree is not None:
            _write(os.path.join(worktree.git_dir, _NOTE), branch + "\n")
    except (OSError, GitError) as error:
        log.warning("cannot note the branch of %s: %s", path, error)


async def branch_of(path: str, worktree: Worktree, names: Names) -> str:
    """The branch that the worktree at `path` was made for, whatever it is on now."""
    noted = _read(os.path.join(worktree.git_dir, _NOTE))
    # An agent can write there as well: only a name of its own is believed.
    if noted in names:
        return noted
    head = _read(os.path.join(worktree.git_dir, "HEAD")).removeprefix("ref: refs/heads/")
    return guess(names, await survey(worktree.common, path), os.path.realpath(path), head)


def deleted_branch_of(path: str, known: Survey, names: Names) -> str:
    """As `branch_of`, for a worktree whose directory is gone."""
    real = os.path.realpath(path)
    noted = [branch for branch in (names.own, names.plain) if known.holders.get(branch) == real]
    return noted[0] if noted else guess(names, known, real, "")


@contextlib.asynccontextmanager
async def turn(common: str) -> AsyncIterator[None]:
    """One at a time, over all instances: parallel `worktree add`s race on git's locks, and for a branch.

    The lock is on git's directory itself, so that nothing is made for it and nothing stays.
    """
    directory = os.open(common, os.O_RDONLY | os.O_DIRECTORY)
    try:
        await _lock(directory, common)
        yield
    finally:
        os.close(directory)


async def _lock(directory: int, common: str) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + _TURN_SECONDS
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
    """The text of a small file; empty if there is none."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(4096).strip()
    except OSError:
        return ""
