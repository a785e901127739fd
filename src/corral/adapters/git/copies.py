"""A copy of somebody's repository, for agents of another user: made, brought up to date, and removed (ADR 32)."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
from collections.abc import Iterable
from shlex import quote

from corral.adapters.git.command import git
from corral.adapters.git.refs import BROUGHT_SHALLOW, SHALLOW, listed, move, point_head, shallow
from corral.adapters.git.work import work_not_handed_in
from corral.adapters.git.worktrees import all_worktrees, turn
from corral.domain.copies import branch_of, followed, is_copy
from corral.domain.errors import CorralError, RefusedError, WrongUseError
from corral.git import GitError
from corral.ports.lending import Refs
from corral.ports.workspace import WorkspaceRemoval

_OF_IT = "worktrees are of it"
_WHY = "corral: as it is in the repository"
#: Of which repository it is, in its configuration.
_OF = "corral.copyOf"


async def make(copy: str, of: str, object_format: str) -> None:
    """See `Lending.make_copy`."""
    if not is_copy(copy):
        raise WrongUseError(f"{copy} is no place for a copy")
    if os.path.islink(copy):
        raise RefusedError(f"{copy} is a symbolic link, and Corral follows none there", "look where it leads")
    if os.path.isdir(os.path.join(copy, "info")):
        if await _is_of(copy, of):
            return
        await asyncio.to_thread(shutil.rmtree, copy)
    # What is there without it is of one who was killed on the way, and has nothing yet.
    above = os.path.dirname(copy)
    os.makedirs(copy, mode=0o700, exist_ok=True)
    # Nothing of a template: what is in this directory git would run.
    await git(above, "init", "--bare", "--quiet", "--template=", f"--object-format={object_format}", copy)
    await git(copy, "config", "core.logAllRefUpdates", "true")
    await git(copy, "config", _OF, of)
    os.makedirs(os.path.join(copy, "info"), exist_ok=True)


async def _is_of(copy: str, of: str) -> bool:
    """Whether it is a copy of this repository. If of another, it may go: else it is refused with what is in it."""
    said = (await git(copy, "config", "--default", "", "--get", _OF)).strip()
    if said == of:
        return True
    if any(_worktrees(copy)) or await _work(copy):
        renamed = f"sudo -u {getpass.getuser()} git -C {quote(copy)} config {_OF} {quote(of)}"
        raise RefusedError(
            f"{copy} is a copy of {said or 'another repository'}, with work in it, and not of {of}",
            "bring the team up with the old repository, which hands in what is committed; or corral down --discard, if "
            f"nobody needs that work. If this is the same one in another place: {renamed}",
        )
    return False


async def follow(copy: str, team: str, there: Refs) -> None:
    """See `Lending.follow`; all objects are in it by now."""
    async with turn(copy):
        here = await listed(copy)
        await _be_shallow(copy, there.shallow)
        pinned = await _checked_out(copy)
        pinned |= await asyncio.to_thread(_of_its_agents, copy, team, here)
        for step in followed(here, there.refs, pinned):
            await move(copy, step, _WHY)
        if there.head:
            await point_head(copy, there.head)


async def left(copy: str) -> list[WorkspaceRemoval]:
    """The copy as something to be removed, with what is in it and nowhere else: once no worktree is of it any more."""
    if os.path.islink(copy) or not os.path.isdir(copy):
        return [WorkspaceRemoval(path=copy, removed=False, why="no copy of a repository", in_the_way=True)]
    try:
        beside, elsewhere = _worktrees(copy)
    except OSError as error:
        why = f"contents that cannot be checked ({error.filename}: {error.strerror})"
        return [WorkspaceRemoval(path=copy, removed=False, why=why)]
    if beside:
        return []  # they are told of, and go before it
    why = ", ".join(filter(None, (await _work(copy), *(f"the worktree {path} is of it" for path in elsewhere))))
    return [WorkspaceRemoval(path=copy, removed=False, why=why)]


async def remove(copy: str, *, discard: bool) -> WorkspaceRemoval:
    """Remove a copy that has no worktrees, if all of it is in the repository, or if `discard` says so."""
    if not os.path.lexists(copy):
        return WorkspaceRemoval(path=copy, removed=False)
    (found,) = await left(copy) or [WorkspaceRemoval(path=copy, removed=False, why=_OF_IT)]
    if found.in_the_way or (found.why and not discard) or found.why == _OF_IT:
        return found
    try:
        await asyncio.to_thread(shutil.rmtree, copy)
    except OSError as error:
        problem = f"{os.fsdecode(error.filename or copy)}: {error.strerror}"
        return WorkspaceRemoval(path=copy, removed=False, why=problem)
    remove_if_empty(os.path.dirname(copy))
    return WorkspaceRemoval(path=copy, removed=True, why=f"discarded {found.why}" if found.why else "")


def remove_if_empty(directory: str) -> None:
    """A room of a team goes with the last that is in it."""
    if not os.listdir(directory):
        os.rmdir(directory)


def _worktrees(copy: str) -> tuple[list[str], list[str]]:
    """The worktrees of a copy that are there: those beside it, and those that somebody has made elsewhere."""
    there = [path for path in all_worktrees(copy) if os.path.isdir(path)]
    room = os.path.realpath(os.path.dirname(copy))
    beside = [path for path in there if os.path.dirname(path) == room]
    return beside, sorted(set(there) - set(beside))


async def _work(copy: str) -> str:
    try:
        return await work_not_handed_in(copy)
    except CorralError as error:
        return f"contents that cannot be checked ({error.message})"


def _of_its_agents(copy: str, team: str, here: Iterable[str]) -> set[str]:
    """The branches of the agents that work in the copy: whatever is checked out there, they are theirs."""
    agents = [entry.name for entry in os.scandir(os.path.dirname(copy)) if not is_copy(entry.path)]
    own = [f"refs/heads/{branch_of(team, agent)}" for agent in agents]
    # With a dot after it comes the instance: see `branches.Names`.
    return {ref for ref in here if any(ref == branch or ref.startswith(f"{branch}.") for branch in own)}


async def _checked_out(copy: str) -> set[str]:
    listing = await git(copy, "worktree", "list", "--porcelain", "-z")
    return {line.removeprefix("branch ") for line in listing.split("\0") if line.startswith("branch ")}


async def _be_shallow(copy: str, commits: list[str]) -> None:
    """Have git know of which commits the parents are not there, as they are not in the repository. What somebody has
    fetched into the copy without its history stays as it is.
    """
    path, note = (os.path.join(copy, name) for name in (SHALLOW, BROUGHT_SHALLOW))

    def change() -> None:
        for place in (path, note):
            if os.path.lexists(place) and not os.path.isfile(place):
                os.unlink(place)  # git would wait for what is no file
        now, brought = shallow(copy), shallow(copy, BROUGHT_SHALLOW)
        wanted = list(dict.fromkeys([*(one for one in now if one not in brought), *commits]))
        # Noted first: who is killed in between begins anew.
        if brought != commits:
            _write_lines(note, commits)
        if wanted != now:
            _write_lines(path, wanted)

    try:
        await asyncio.to_thread(change)
    except FileExistsError as error:
        raise GitError(
            f"{error.filename} is there: another git is at work", "run it again when that is done"
        ) from error


def _write_lines(path: str, lines: list[str]) -> None:
    """Have a file hold these, under git's lock of it; with none of them there is no file."""
    new = f"{path}.lock"
    with open(new, "x", encoding="ascii") as file:
        file.write("".join(f"{line}\n" for line in lines))
    if lines:
        os.replace(new, path)
        return
    try:
        os.unlink(path)
    finally:
        os.unlink(new)
