"""Reading and moving a repository's refs, all at once."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence

from corral.adapters.git.command import git
from corral.adapters.git.worktrees import common_dir
from corral.domain.copies import Move
from corral.domain.errors import RefusedError
from corral.git import GitError
from corral.ports.lending import Refs

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: With more of them, telling of them all takes too long.
_MOST = 200_000


async def refs_of(directory: str) -> Refs:
    """See `Lending.refs`."""
    listing = await git(directory, "for-each-ref", "--format=%(objectname) %(refname) %(symref)")
    refs = {}
    for line in listing.splitlines():
        commit, ref, leads_to = line.split(" ")
        if not leads_to:
            refs[ref] = commit
    if len(refs) > _MOST:
        raise RefusedError(
            f"{directory} has {len(refs):,} branches and tags, and no more than {_MOST:,} can be copied",
            "delete some that nobody needs, or leave run_as out of corral.toml",
        )
    common = await common_dir(directory)
    return Refs(
        refs=refs,
        head=await _head(directory),
        shallow=_shallow(common),
        common=common,
        object_format=(await git(directory, "rev-parse", "--show-object-format")).strip(),
    )


async def move(directory: str, moves: Sequence[Move], why: str) -> None:
    """Move refs, all of them or none: `GitError` if one is not where it was."""
    feed = "".join(
        f"update {one.ref}\0{one.new}\0{one.old or '0' * len(one.new)}\0"
        if one.new
        else f"delete {one.ref}\0{one.old}\0"
        for one in moves
    )
    await git(directory, "update-ref", "--no-deref", "-m", why, "-z", "--stdin", feed=os.fsencode(feed))


async def point_head(directory: str, head: str) -> None:
    """Have HEAD name this ref, or be at this commit."""
    if head.startswith("refs/"):
        await git(directory, "symbolic-ref", "HEAD", head)
    elif is_hash(head):
        await git(directory, "update-ref", "--no-deref", "HEAD", head)


def is_hash(said: str) -> bool:
    """Whether this is the name of an object."""
    return _HASH.fullmatch(said) is not None


async def _head(directory: str) -> str:
    with contextlib.suppress(GitError):
        return (await git(directory, "symbolic-ref", "--quiet", "HEAD")).strip()
    with contextlib.suppress(GitError):
        return (await git(directory, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")).strip()
    return ""


def _shallow(common: str) -> list[str]:
    try:
        with open(os.path.join(common, "shallow"), encoding="ascii") as file:
            return file.read().split()
    except FileNotFoundError:
        return []
