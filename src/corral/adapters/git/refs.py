"""Reading and moving a repository's refs, all at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import stat
from collections.abc import Sequence

from corral.adapters.git.command import git
from corral.domain.copies import MOST_REFS, Move, is_copy
from corral.domain.errors import RefusedError
from corral.git import GitError
from corral.ports.lending import Refs

#: Where git keeps of which commits the parents are not there; and in a copy, which of them were brought so.
SHALLOW, BROUGHT_SHALLOW = "shallow", "corral-shallow"
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


async def refs_of(directory: str) -> Refs:
    """See `Lending.refs`."""
    refs = await listed(directory)
    words = ("--path-format=absolute", "--git-common-dir", "--show-object-format")
    common, _, kind = (await git(directory, "rev-parse", *words)).strip().rpartition("\n")
    common = os.path.realpath(common)
    return Refs(
        refs=refs,
        head=await _head(directory),
        shallow=await asyncio.to_thread(shallow, common, BROUGHT_SHALLOW if is_copy(common) else SHALLOW),
        common=common,
        object_format=kind,
    )


async def listed(directory: str) -> dict[str, str]:
    """Each ref that is none of another, and can be told, with its object."""
    listing = await git(directory, "for-each-ref", "--format=%(objectname) %(refname) %(symref)")
    refs = {}
    for line in _lines(listing):
        commit, ref, leads_to = line.split(" ")
        if not leads_to and _can_be_told(ref):
            refs[ref] = commit
    if len(refs) > MOST_REFS:
        raise RefusedError(
            f"{directory} has {len(refs):,} branches and tags, and no more than {MOST_REFS:,} can be copied",
            "delete some that nobody needs, or leave run_as out of corral.toml",
        )
    return refs


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


def _lines(listing: str) -> list[str]:
    """A name may hold what ends a line elsewhere."""
    return listing.split("\n")[:-1]


def _can_be_told(ref: str) -> bool:
    """Whether a name is text; of one that is not nobody else can be told."""
    try:
        ref.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_hash(said: str) -> bool:
    """Whether this is the name of an object."""
    return _HASH.fullmatch(said) is not None


async def _head(directory: str) -> str:
    with contextlib.suppress(GitError):
        return (await git(directory, "symbolic-ref", "--quiet", "HEAD")).strip()
    with contextlib.suppress(GitError):
        return (await git(directory, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")).strip()
    return ""


def shallow(common: str, name: str = SHALLOW) -> list[str]:
    """The commits in such a file, of the git directory `common`."""
    try:
        # An agent can put anything there in a copy: nothing is waited for.
        handle = os.open(os.path.join(common, name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with open(handle, encoding="ascii", errors="replace") as file:
        return file.read().split() if stat.S_ISREG(os.fstat(handle).st_mode) else []
