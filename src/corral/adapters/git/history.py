"""Who changed a file: its commits over all branches, renames followed, and what is in no commit yet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence

import msgspec

from corral.adapters.git.command import git
from corral.domain.errors import CorralError, NotFoundError
from corral.ports.history import CommittedChange, FileHistory, OpenChange
from corral.repository import BRANCHES, STATUS

#: Working trees that are looked at, and how many at once: a team may have hundreds.
_MOST_WORKSPACES, _AT_ONCE = 200, 4
#: Moves of the agents' branches that are looked at.
_MOVES = 10_000
#: Moves of a branch by which somebody made the commit that it is on then. All others take one that was there.
_MAKING = ("commit", "cherry-pick", "revert")
_OF_AGENTS = f"refs/heads/{BRANCHES}/"
#: Nothing of the person's settings, and no program of theirs, may come into what is read here.
_LOG = ("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--encoding=UTF-8")
_FIELDS = "%x01%H%x02%ct%x02%an <%ae>%x02%s"


async def history(repo: str, path: bytes, workspaces: Sequence[str], limit: int) -> FileHistory:
    """The newest commits that changed `path` (from the top of the repository), at most `limit`, and open changes.

    What cannot be looked at is named; `NotFoundError` if `repo` is no repository.
    """
    name = os.fsdecode(path)
    try:
        refs = await git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/")
    except CorralError as error:
        raise NotFoundError(f"{repo} is no git repository: {error.message}", "name a file of one that is") from error
    branches = refs.split()
    unseen: list[str] = []
    commits: list[CommittedChange] = []
    if branches:
        try:
            commits = await _commits(repo, name, branches, limit)
        except CorralError as error:
            unseen.append(error.message)
    looked_at = list(dict.fromkeys(workspaces))
    if len(looked_at) > _MOST_WORKSPACES:
        unseen.append(f"{len(looked_at) - _MOST_WORKSPACES} of {len(looked_at)} working trees")
    turn = asyncio.Semaphore(_AT_ONCE)
    looks = [_open_change(workspace, name, turn) for workspace in looked_at[:_MOST_WORKSPACES]]
    changes = list[OpenChange]()
    for look in await asyncio.gather(*looks):
        if isinstance(look, str):
            unseen.append(look)
        elif look is not None:
            changes.append(look)
    there = any(os.path.lexists(os.path.join(workspace, name)) for workspace in (repo, *looked_at))
    return FileHistory(known=there or bool(commits or changes), commits=commits, open_changes=changes, unseen=unseen)


async def _commits(repo: str, name: str, branches: Sequence[str], limit: int) -> list[CommittedChange]:
    arguments = ["--follow", "--name-only", f"-n{limit}", f"--format={_FIELDS}", "HEAD", *branches]
    found = read_log(await git(repo, *_LOG, *arguments, "--", f":(literal){name}"))
    of_agents = [branch for branch in branches if branch.startswith(_OF_AGENTS)]
    if not found or not of_agents:
        return found
    unmerged = await git(
        repo, *_LOG, f"-n{_MOVES}", "--format=%H %S", *of_agents,
        "--not", "HEAD", *(branch for branch in branches if branch not in of_agents),
    )  # fmt: skip
    moves = await git(repo, *_LOG, "-g", f"-n{_MOVES}", "--format=%H %gD %gs", *of_agents)
    made_on = {**_pairs(unmerged), **made_by(moves.split("\0"))}
    return [
        msgspec.structs.replace(one, branch=made_on.get(one.commit, "").removeprefix("refs/heads/")) for one in found
    ]


def read_log(output: str) -> list[CommittedChange]:
    """Commits out of what git says of them in `_FIELDS`, with the name of the file behind each. Pure."""
    found = []
    for entry in output.split("\1")[1:]:
        about, _, names = entry.partition("\0")
        commit, time, author, subject = about.split("\2", 3)
        path = os.fsencode(names.strip("\0").removeprefix("\n").partition("\0")[0])
        found.append(
            CommittedChange(
                commit=commit, time=float(time), author=_text(author), subject=_text(subject)[:200], path=path
            )
        )
    return found


def made_by(moves: Iterable[str]) -> dict[str, str]:
    """Commit → the branch that it was made on, out of reflogs (`COMMIT BRANCH@{N} why`). Pure."""
    found: dict[str, str] = {}
    for move in moves:
        commit, _, rest = move.partition(" ")
        branch, _, why = rest.partition(" ")
        if why.startswith(_MAKING):
            found[commit] = branch.partition("@{")[0]
    return found


async def _open_change(workspace: str, name: str, turn: asyncio.Semaphore) -> OpenChange | str | None:
    """How the file differs from what is committed, None if it does not; words if that cannot be told."""
    if not os.path.isdir(workspace):
        return None
    async with turn:
        try:
            status = await git(workspace, *STATUS, "-z", "--no-renames", "--", f":(literal){name}")
        except CorralError as error:
            return error.message
    if not status:
        return None
    # One line for the file itself; several if it is a directory, and then any of them will do.
    words = status[:2]
    try:
        time = os.lstat(os.path.join(workspace, name)).st_mtime
    except OSError:
        return OpenChange(workspace=workspace, how="deleted")
    return OpenChange(workspace=workspace, how="new" if words == "??" or "A" in words else "changed", time=time)


def _pairs(listing: str) -> dict[str, str]:
    return dict(line.partition(" ")[::2] for line in listing.split("\0") if line)


def _text(said: str) -> str:
    """What somebody wrote into a commit, as text that can be told."""
    return os.fsencode(said).decode("utf-8", "replace")
