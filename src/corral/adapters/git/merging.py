"""Merges computed in git's objects: no index, no working tree, no ref is touched. See `ports.merging`.

`git merge-tree --write-tree` does it, which git has since 2.38 (Debian 12 has 2.39, Debian 13 has 2.47). Names of
branches are always given to git as whole refs (`refs/heads/…`) and commits by their hashes, so no name is ever taken
for an option.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence

from corral import git as command
from corral.adapters.git.target_checkouts import busy, real_ref
from corral.adapters.git.worktrees import common_dir
from corral.domain.errors import NotFoundError, RefusedError, UnavailableError
from corral.domain.spec_merge import can_be_a_branch, why_never_a_branch
from corral.domain.told_names import told_name
from corral.git import GitError
from corral.ports.merging import Build, MergeStep, Piece, Submission
from corral.repository import STATUS

_HEADS = "refs/heads/"
_OLDEST = (2, 38)
#: A merge of a large history may take a while.
_SECONDS = 300.0
#: Paths that are told one by one. Conflicts are for a person or a model to read.
MOST_PATHS, _MOST_CONFLICTS = 200_000, 1_000
_COMMITTER = ("Corral", "corral@localhost")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: The mode of a submodule.
_SUBMODULE = "160000"
_VERSION = re.compile(r"(\d+)\.(\d+)")


async def look(*, repo: str, directory: str, branch: str, target: str | None) -> Submission:
    """See `Merging.merge_look`."""
    return await asyncio.to_thread(_look, repo, directory, branch, target)


async def build(*, repo: str, target: str, pieces: Sequence[Piece]) -> Build:
    """See `Merging.merge_build`."""
    return await asyncio.to_thread(_build, repo, target, pieces, await common_dir(repo))


def _look(repo: str, directory: str, branch: str, target: str | None) -> Submission:
    name = branch.removeprefix(_HEADS) if branch else _checked_out(repo, directory)
    if not can_be_a_branch(name):
        why = why_never_a_branch(name)
        raise NotFoundError(f"{told_name(name)[:300]} {why}", "git branch lists those that there are", branch=name)
    base = _target_tip(repo, target) if target is not None else ""
    tip = tip_of(repo, name)
    if tip is None:
        raise NotFoundError(
            f"{repo} has no branch {name} with a commit on it", "git branch lists those that there are", branch=name
        )
    if target is None:
        return Submission(branch=name, tip=tip, subject="", target="", uncommitted=_uncommitted(directory, name))
    if real_ref(repo, name) == real_ref(repo, target):
        raise RefusedError(f"{name} is the branch that merges go into", "work on a branch of your own, and submit that")
    fork = _fork(repo, base, tip)
    if fork is None:
        raise _unrelated(name, target)
    paths, too_many = _changed(repo, fork, tip)
    subject = command.git(repo, "log", "-1", "--no-show-signature", "--format=%s", tip, "--").strip()
    return Submission(
        branch=name,
        tip=tip,
        subject=subject.encode("utf-8", "replace").decode()[:200],
        target=base,
        already=fork == tip,
        paths=paths,
        too_many=too_many,
        uncommitted=_uncommitted(directory, name),
        ignore_case=_ignores_case(repo),
    )


def _checked_out(repo: str, directory: str) -> str:
    """The branch that is checked out in a directory of the repository."""
    try:
        same = os.path.realpath(_common(directory)) == os.path.realpath(_common(repo))
    except (GitError, OSError):
        same = False
    if not same:
        raise RefusedError(
            f"which branch? {directory or 'this'} is no checkout of {repo}",
            "name the branch: corral merge submit BRANCH",
        )
    head = command.git(directory, "rev-parse", "--symbolic-full-name", "HEAD").strip()
    if not head.startswith(_HEADS):
        raise RefusedError(f"no branch is checked out in {directory}", "git switch -c NAME makes one of what is there")
    return head.removeprefix(_HEADS)


def _common(directory: str) -> str:
    return command.git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()


def _uncommitted(directory: str, branch: str) -> int:
    """How many files are changed and in no commit, where the branch is checked out in `directory`."""
    try:
        head = command.git(directory, "rev-parse", "--symbolic-full-name", "HEAD").strip()
        return len(command.git(directory, *STATUS).splitlines()) if head == _HEADS + branch else 0
    except (GitError, OSError):
        return 0  # it is somewhere else, and not ours to speak of


def _target_tip(repo: str, target: str) -> str:
    if not target:
        raise RefusedError(
            "it is not known which branch merges go into: HEAD named none at `up`",
            'add target = "main" to [merge] in corral.toml, then corral up',
        )
    tip = tip_of(repo, target)
    if tip is None:
        raise RefusedError(
            f"{repo} has no branch {target} with a commit on it, and merges go into that",
            "make it, or name another: target below [merge] in corral.toml, then corral up",
        )
    return tip


def tip_of(repo: str, branch: str) -> str | None:
    """The commit that a branch is at; None if there is no such branch."""
    code, output = command.answer(
        repo, "rev-parse", "--verify", "--quiet", f"{_HEADS}{branch}^{{commit}}", accept=(0, 1, 128)
    )
    found = output.strip()
    return found if code == 0 and _COMMIT.fullmatch(found) else None


def is_ancestor(repo: str, older: str, newer: str) -> bool:
    """True if `newer` has all of `older`."""
    return command.answer(repo, "merge-base", "--is-ancestor", older, newer, accept=(0, 1))[0] == 0


def _fork(repo: str, one: str, other: str) -> str | None:
    """The last commit that both have come from; None if there is none."""
    return command.answer(repo, "merge-base", one, other, accept=(0, 1))[1].strip() or None


def _unrelated(name: str, target: str) -> RefusedError:
    return RefusedError(
        f"{name} and {target} have no commit in common: they are not of one history",
        f"begin the branch at {target}, and bring the work over: git cherry-pick",
    )


def _build(repo: str, target: str, pieces: Sequence[Piece], common: str) -> Build:
    _need_merge_tree(repo)
    base = _target_tip(repo, target)
    author = _author(repo)
    steps: list[MergeStep] = []
    upon = base
    for piece in pieces:
        step = _step(repo, base, upon, piece, author)
        steps.append(step)
        if step.outcome == "later":
            break
        upon = step.commit or upon
    in_the_way = busy(repo, common, target, real_ref(repo, target))
    return Build(base=base, steps=steps, busy=in_the_way, ignore_case=_ignores_case(repo))


def _step(repo: str, base: str, upon: str, piece: Piece, author: tuple[str, str] | None) -> MergeStep:
    if not _COMMIT.fullmatch(piece.tip) or not _is_there(repo, piece.tip):
        return MergeStep(name=piece.name, outcome="missing")
    if is_ancestor(repo, piece.tip, upon):
        return MergeStep(name=piece.name, outcome="already" if is_ancestor(repo, piece.tip, base) else "later")
    if _fork(repo, upon, piece.tip) is None:
        return MergeStep(name=piece.name, outcome="unrelated")
    tree, files = _merged(repo, upon, piece.tip)
    if files is not None:
        if upon != base and _merged(repo, base, piece.tip)[1] is None:
            return MergeStep(name=piece.name, outcome="later")
        return MergeStep(name=piece.name, outcome="conflict", files=files[:_MOST_CONFLICTS])
    name, email = author or (piece.person, f"{piece.person}@localhost")
    commit = command.git(
        repo,
        *("-c", f"author.name={name}", "-c", f"author.email={email}"),
        *("-c", f"committer.name={_COMMITTER[0]}", "-c", f"committer.email={_COMMITTER[1]}"),
        *("-c", "i18n.commitEncoding=UTF-8"),
        *("commit-tree", "-p", upon, "-p", piece.tip, "-F", "-", tree),
        feed=piece.message.encode("utf-8", "replace"),
    ).strip()
    paths, too_many = _changed(repo, upon, commit)
    return MergeStep(name=piece.name, outcome="clean", commit=commit, tree=tree, paths=paths, too_many=too_many)


def _is_there(repo: str, commit: str) -> bool:
    return command.answer(repo, "cat-file", "-e", f"{commit}^{{commit}}", accept=(0, 1, 128))[0] == 0


def _merged(repo: str, ours: str, theirs: str) -> tuple[str, list[bytes] | None]:
    """The tree of both together; if they conflict, the files that do."""
    code, output = command.answer(
        repo, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs,
        accept=(0, 1), seconds=_SECONDS,
    )  # fmt: skip
    tree, *rest = output.split("\0")
    files = list(dict.fromkeys(os.fsencode(name) for name in rest if name))
    return tree, files if code else None


def _changed(repo: str, old: str, new: str) -> tuple[list[bytes], bool]:
    """What differs, and whether that is more than can be told."""
    listing = command.git(repo, "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new, seconds=_SECONDS)
    fields = listing.split("\0")[:-1]
    paths = []
    for modes, name in zip(fields[::2], fields[1::2], strict=True):
        paths.append(os.fsencode(name))
        if _SUBMODULE in modes.lstrip(":").split(" ")[:2]:
            paths.append(os.fsencode(name) + b"/")  # everything below it
    return ([], True) if len(paths) > MOST_PATHS else (paths, False)


def _author(repo: str) -> tuple[str, str] | None:
    """Who git thinks the person is; None if it has not been told."""
    name, email = (
        command.answer(repo, "config", "--get", f"user.{key}", accept=(0, 1))[1].strip() for key in ("name", "email")
    )
    return (name, email) if name and email else None


def _ignores_case(repo: str) -> bool:
    return command.answer(repo, "config", "--type=bool", "--get", "core.ignorecase", accept=(0, 1))[1].strip() == "true"


def _need_merge_tree(repo: str) -> None:
    said = command.git(repo, "version")
    found = _VERSION.search(said)
    if found is not None and (int(found[1]), int(found[2])) < _OLDEST:
        raise UnavailableError(
            f"the merge queue needs git 2.38 or later, and this is {said.strip().removeprefix('git version ')}",
            "install a newer git; Debian 12 and later have one",
        )
