"""Moving the branch that merges go into.

It moves from a commit that is named to one that is named, or not at all: git compares and swaps. Where it is checked
out, the working tree goes along by a fast-forward, which git does only if nothing of anybody's would be lost; a tree
with changes is left alone, and so is the branch.
"""

from __future__ import annotations

import asyncio

from corral import git as command
from corral.adapters.git.target_checkouts import (
    HEADS,
    busy,
    changed_files,
    checkouts,
    forget_landing,
    note_landing,
    real_ref,
)
from corral.adapters.git.worktrees import common_dir, turn
from corral.domain.errors import CorralError, UnavailableError
from corral.failpoint import point
from corral.git import GitError
from corral.ports.merging import Landing

#: Bringing a person's files along takes as long as it takes: filters may fetch each of them from far away. What hangs
#: for a day does not end by itself.
_BRINGING_SECONDS = 86400.0
#: What settings of a branch (`branch.NAME.mergeOptions`) could turn on, turned off: it is a fast-forward and no more.
_NOTHING_ELSE = (
    "--no-squash", "--commit", "--no-edit", "--no-signoff", "--no-log", "--no-stat", "--no-autostash",
    "--no-overwrite-ignore", "--no-verify-signatures", "--no-gpg-sign", "--quiet",
)  # fmt: skip


async def land(*, repo: str, target: str, old: str, new: str) -> Landing:
    """See `Merging.merge_land`."""
    common = await common_dir(repo)
    async with turn(common):
        landing = await asyncio.to_thread(_land, repo, common, target, old, new)
    point("keeper.merge_landed")
    return landing


def _land(repo: str, common: str, target: str, old: str, new: str) -> Landing:
    ref = real_ref(repo, target)
    now = _tip(repo, ref)
    if not now:
        return Landing(outcome="moved", why=f"{target} is gone")
    if not _tip(repo, new):
        # Nothing named it yet, and somebody has tidied up meanwhile.
        return Landing(outcome="moved", why=f"the merge commit {new[:12]} is gone")
    if command.answer(repo, "merge-base", "--is-ancestor", new, now, accept=(0, 1))[0] == 0:
        return Landing(outcome="landed")
    if now != old:
        return _moved(target, now)
    if why := busy(repo, common, target, ref):
        return Landing(outcome="busy", why=why)
    places = checkouts(repo, common, ref)
    try:
        if places:
            _bring_along(places[0].path, ref, new)
        else:
            command.git(repo, "update-ref", "-m", "corral merge", ref, new, old)
    except GitError as error:
        now = _tip(repo, ref)
        return _moved(target, now) if now != old else Landing(outcome="busy", why=f"{error.message}; {error.remedy}")
    except UnavailableError:
        # It did not end. What is half done there is told as what is in the way.
        return Landing(outcome="busy", why=busy(repo, common, target, ref) or f"git did not end in {places[0].path}")
    now = _tip(repo, ref)
    if now == new:
        return Landing(outcome="landed")
    return Landing(outcome="moved", why=_switched(places[0].path, ref, new) if places else _moved(target, now).why)


def _moved(target: str, now: str) -> Landing:
    return Landing(outcome="moved", why=f"{target} is at {now[:12]} by now" if now else f"{target} is gone")


def _tip(repo: str, name: str) -> str:
    """The commit that a ref or a hash names; empty if there is none."""
    code, output = command.answer(repo, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", accept=(0, 1, 128))
    return output.strip() if code == 0 else ""


def _bring_along(path: str, ref: str, new: str) -> None:
    """Fast-forward a working tree and its branch together, in one command that outlives us.

    Nothing is overwritten that git does not have, ignored files included, and nobody's changes are put aside.
    """
    branch = ref.removeprefix(HEADS)
    # A setting of that name cannot be given on a command line; then the options alone have to do.
    settings = () if "=" in branch else ("-c", f"branch.{branch}.mergeOptions=")
    note_landing(path, new)
    command.git(
        path,
        *("-c", "submodule.recurse=false", "-c", "merge.log=false"),
        *settings,
        *("merge", "--ff-only", *_NOTHING_ELSE, new),
        seconds=_BRINGING_SECONDS,
    )
    forget_landing(path)


def _switched(path: str, ref: str, new: str) -> str:
    """Somebody switched to another branch at `path` in that very moment: put it back if ours moved that one."""
    head = command.answer(path, "symbolic-ref", "-q", "HEAD", accept=(0, 1))[1].strip() or "HEAD"
    name = head.removeprefix(HEADS)
    said = f"{path} was switched to {name} in that moment"
    if head == ref or _tip(path, head) != new:
        return said
    try:
        why = command.git(path, "log", "-g", "-1", "--no-show-signature", "--format=%gs", head).strip()
        before = _tip(path, f"{head}@{{1}}")
        if not why.startswith(f"merge {new}") or not before:
            return said
        if changed_files(path):
            return f"{said}, and that was moved along; git reset --keep {before[:12]} there undoes it"
        command.git(path, "reset", "--keep", before)
    except CorralError as error:
        return f"{said}, and that was moved along to {new[:12]}: {error.message}"
    return f"{said}, and that was moved along; it was put back to {before[:12]}"
