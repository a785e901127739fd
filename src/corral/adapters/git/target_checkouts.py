"""Where the branch is checked out that merges go into, and what is in the way there."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from corral import git as command
from corral.adapters.git.worktrees import registered_path
from corral.domain.errors import UnavailableError
from corral.domain.told_names import told_name

HEADS = "refs/heads/"
#: Submodules are no part of it: a merge moves what the repository says of them, and nothing inside them.
_CHANGES = ("status", "--porcelain", "-z", "--renames", "--untracked-files=no", "--ignore-submodules=all")
#: Git's own directory of a worktree has these while something is half done there with a branch that is not checked out
#: meanwhile: which one, in the file.
_HALF_DONE_WITH = (
    ("rebase-merge/head-name", "a rebase"),
    ("rebase-apply/head-name", "a rebase"),
    ("BISECT_START", "a bisection"),
)
#: And these while something is half done with the branch that is checked out.
_HALF_DONE = (
    ("rebase-apply/applying", "git am"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
)
#: In git's own directory of a worktree, while the files there are brought along: if it is there later, that was broken
#: off, and some of them may be new and some old.
_NOTE = "corral-landing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A working tree that has a branch checked out."""

    path: str
    #: It is not there at present, and locked: it may be on a disk that comes back.
    away: bool = False


def real_ref(repo: str, branch: str) -> str:
    """The ref that moves if the branch does: a branch can be another name of another one."""
    return command.answer(repo, "symbolic-ref", "-q", HEADS + branch, accept=(0, 1))[1].strip() or HEADS + branch


def checkouts(repo: str, common: str, ref: str) -> list[Checkout]:
    """Every working tree that has the ref checked out."""
    found = []
    # Asked where git keeps all: in a linked worktree of a bare repository, git takes that for a checkout.
    for entry in command.git(common, "worktree", "list", "--porcelain", "-z").split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in entry.strip("\0").split("\0"))
        if facts.get("branch") != ref or "bare" in facts:
            continue
        path = facts["worktree"]
        if os.path.realpath(path) == common:
            path = _tree_of(repo, common)
        if not path or os.path.isdir(path):
            found.append(Checkout(path=path))
        elif "locked" in facts:
            found.append(Checkout(path=path, away=True))
    return found


def busy(repo: str, common: str, target: str, ref: str) -> str:
    """Why the branch cannot be moved now, in a sentence with the remedy; empty if it can."""
    for path, git_dir in _worktrees(repo, common):
        for name, what in _HALF_DONE_WITH:
            if _is_about(os.path.join(git_dir, name), (target, ref.removeprefix(HEADS))):
                return f"{what} of {target} is under way in {path}; finish it, or abort it"
    places = checkouts(repo, common, ref)
    if len(places) > 1:
        # One command moves one tree along with the branch; the others would be left behind it.
        named = " and in ".join(place.path for place in places)
        return f"{target} is checked out in {named} at once; switch to another branch in all but one of them"
    for place in places:
        if why := _in_the_way(place, target):
            return why
    return ""


def note_landing(path: str, new: str) -> None:
    """Write down that the files at `path` are about to be brought along."""
    with open(os.path.join(_git_dir(path), _NOTE), "w", encoding="ascii") as file:
        file.write(new + "\n")


def forget_landing(path: str) -> None:
    """All files at `path` are of one commit: nothing was broken off, or somebody has put it right."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(_git_dir(path), _NOTE))


def changed_files(path: str) -> list[str]:
    """Files of git's that differ from the last commit in a working tree."""
    entries = iter(command.git(path, *_CHANGES).split("\0")[:-1])
    found = []
    for entry in entries:
        found.append(entry[3:])
        if "R" in entry[:2] or "C" in entry[:2]:
            next(entries)  # what it was called before
    return found


def _in_the_way(place: Checkout, target: str) -> str:
    if not place.path:
        return (
            f"{target} is checked out in a working tree that git does not name; "
            "git config core.worktree PATH, said in the repository, does"
        )
    if place.away:
        return (
            f"{target} is checked out in {place.path}, which is locked and not there; bring it back, or "
            f"git worktree unlock {place.path} and git worktree prune"
        )
    git_dir = _git_dir(place.path)
    for name, what in _HALF_DONE:
        if os.path.lexists(os.path.join(git_dir, name)):
            return f"{what} is under way in {place.path}, where {target} is checked out; finish it, or abort it"
    changed = changed_files(place.path)
    if not changed:
        forget_landing(place.path)
        return ""
    first = told_name(changed[0])
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    if os.path.lexists(os.path.join(git_dir, _NOTE)):
        return (
            f"bringing the files of {target} along was interrupted in {place.path}, and some are new there and some "
            f"old ({first}{more}); git -C {shlex.quote(place.path)} stash --include-untracked puts them aside, then it "
            "is done anew"
        )
    return (
        f"{target} is checked out in {place.path}, with changes in no commit ({first}{more}); "
        "commit or stash them, or switch to another branch there"
    )


def _git_dir(path: str) -> str:
    """Git's own directory of the worktree at `path`."""
    return command.git(path, "rev-parse", "--absolute-git-dir").rstrip("\n")


def _tree_of(repo: str, common: str) -> str:
    """The working tree of a repository whose directory is elsewhere; empty if nothing tells where it is."""
    declared = command.answer(common, "config", "--get", "core.worktree", accept=(0, 1))[1].strip()
    if declared:
        return os.path.normpath(os.path.join(common, declared))
    code, found = command.answer(repo, "rev-parse", "--absolute-git-dir", "--show-toplevel", accept=(0, 128))
    git_dir, _, top = found.strip().partition("\n")
    return top if code == 0 and os.path.realpath(git_dir) == common else ""


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


def _is_about(path: str, branches: Sequence[str]) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1024).strip().removeprefix(HEADS) in branches
    except OSError:
        return False  # nothing is half done there
