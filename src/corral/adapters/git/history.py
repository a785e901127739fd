"""Who changed a file: its commits over all branches, renames followed, and what is in no commit yet."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Sequence

import msgspec

from corral.adapters.git.command import git
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.repository import BRANCHES
from corral.ports.history import AskedMerge, CommittedChange, FileHistory, OpenChange, OpenChanges
from corral.repository import STATUS

#: Working trees that are looked at, and how many at once: a team may have hundreds.
_MOST_WORKSPACES, _AT_ONCE = 200, 4
#: Merges that did not land that are looked at, each by a git of its own, and names of the file that are.
_MOST_UNLANDED, _MOST_NAMES = 200, 50
#: Moves of the agents' branches that are looked at.
_MOVES = 10_000
#: Moves of a branch by which somebody made the commit that it is on then. All others take one that was there.
_MAKING = ("commit", "cherry-pick", "revert")
_OF_AGENTS = f"refs/heads/{BRANCHES}/"
#: Nothing of the person's settings, and no program of theirs, may come into what is read here.
_LOG = ("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--encoding=UTF-8")
_FIELDS = "%x01%H%x02%ct%x02%an <%ae>%x02%s"


async def history(
    repo: str, path: bytes, workspaces: Sequence[str], limit: int, merges: Sequence[AskedMerge]
) -> FileHistory:
    """The newest commits that changed `path` (from the top of the repository), at most `limit`, and open changes.

    A merge commit is one of them if the file in it is that of none of its parents. Of `merges`, the newest first, those
    are told that have the file. What cannot be looked at is named; `NotFoundError` if `repo` is no repository.
    """
    name = os.fsdecode(path)
    try:
        refs = await git(repo, "for-each-ref", "--format=%(refname)", "refs/heads/")
    except CorralError as error:
        raise NotFoundError(f"{repo} is no git repository: {error.message}", "name a file of one that is") from error
    branches = refs.split()
    unseen: list[str] = []
    commits: list[CommittedChange] = []
    with_it: list[AskedMerge] = []
    if branches:
        try:
            commits, paths = await _commits(repo, name, branches, limit + 1)
            if len(commits) > limit:
                unseen.append(f"commits older than the newest {limit}")
                del commits[limit:]
            with_it = await _with_it(repo, paths, merges, unseen)
        except CorralError as error:
            unseen.append(error.message)
    here = await open_changes(path, [repo, *workspaces])
    unseen += here.unseen
    known = here.known or bool(commits)
    return FileHistory(known=known, commits=commits, open_changes=here.changes, merges=with_it, unseen=unseen)


async def open_changes(path: bytes, workspaces: Sequence[str]) -> OpenChanges:
    """Where `path` differs from what is committed, among these working trees. What cannot be looked at is named."""
    name, unseen = os.fsdecode(path), list[str]()
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
    there = any(os.path.lexists(os.path.join(workspace, name)) for workspace in looked_at)
    return OpenChanges(known=there or bool(changes), changes=changes, unseen=unseen)


async def _commits(
    repo: str, name: str, branches: Sequence[str], limit: int
) -> tuple[list[CommittedChange], list[str]]:
    """The commits, and the names that the file has and had, as git takes them."""
    arguments = ["--name-status", f"-n{limit}", f"--format={_FIELDS}", "HEAD", *branches, "--"]
    logged = read_log(await git(repo, *_LOG, "--follow", *arguments, f":(literal){name}"))
    # What it was copied from is another file, though git follows that as well, or takes one that began with the same
    # words for it.
    copied = next((at for at, (_, how) in enumerate(logged) if how.startswith("C")), None)
    own = logged if copied is None else logged[: copied + 1]
    names = dict.fromkeys([name, *(os.fsdecode(change.path) for change, _ in own if change.path)])
    paths = [f":(literal){one}" for one in list(names)[:_MOST_NAMES]]
    if copied is not None:
        told = {change.commit for change, _ in own}
        others = read_log(await git(repo, *_LOG, "--no-merges", *arguments, *paths))
        logged = [*own, *(one for one in others if one[0].commit not in told)]
    # Asked for together, git would follow a file to another one where it merges a branch that made it.
    merging = await git(repo, *_LOG, "--merges", "--full-history", "-c", *arguments, *paths)
    logged += (one for one in read_log(merging) if one[0].path)
    found = sorted((change for change, _ in logged), key=lambda change: -change.time)[:limit]
    of_agents = [branch for branch in branches if branch.startswith(_OF_AGENTS)]
    if not found or not of_agents:
        return found, paths
    unmerged = await git(
        repo, *_LOG, f"-n{_MOVES}", "--format=%H %S", *of_agents,
        "--not", "HEAD", *(branch for branch in branches if branch not in of_agents),
    )  # fmt: skip
    moves = await git(repo, *_LOG, "-g", f"-n{_MOVES}", "--format=%H %gD %gs", *of_agents)
    made_on = {**_pairs(unmerged), **made_by(moves.split("\0"))}
    branch_of = {commit: branch.removeprefix("refs/heads/") for commit, branch in made_on.items()}
    return [msgspec.structs.replace(one, branch=branch_of.get(one.commit, "")) for one in found], paths


async def _with_it(
    repo: str, paths: Sequence[str], merges: Sequence[AskedMerge], unseen: list[str]
) -> list[AskedMerge]:
    """Those of the merges that changed one of the paths in the target, or would have."""
    # Where the target had all of it already, it brought nothing.
    landed = [one for one in merges if one.commit and one.commit != one.base]
    found: set[AskedMerge] = set()
    if landed:
        feed = "".join(f"{one.commit}\n" for one in landed).encode()
        changing = await git(
            repo, "diff-tree", "--stdin", "-r", "--name-only", "-z", "--diff-merges=first-parent", "--no-ext-diff",
            "--", *paths, feed=feed,
        )  # fmt: skip
        said = set(re.split(r"[\0\n]", changing))
        found.update(one for one in landed if one.commit in said)
    unlanded = list(dict.fromkeys(one for one in merges if not one.commit))
    if len(unlanded) > _MOST_UNLANDED:
        unseen.append(f"{len(unlanded) - _MOST_UNLANDED} of {len(unlanded)} merges that did not land")
    turn = asyncio.Semaphore(_AT_ONCE)
    looks = [_would_change(repo, paths, one, turn) for one in unlanded[:_MOST_UNLANDED]]
    for one, would in zip(unlanded, await asyncio.gather(*looks), strict=False):
        if would:
            found.add(one)
    return [one for one in dict.fromkeys(merges) if one in found]


async def _would_change(repo: str, paths: Sequence[str], merge: AskedMerge, turn: asyncio.Semaphore) -> bool:
    """True if the branch has changed one of the paths since it left the target."""
    both = f"{merge.base}...{merge.tip}"
    async with turn:
        try:
            return bool(await git(repo, "diff", "--no-ext-diff", "--name-only", "-z", both, "--", *paths))
        except CorralError:
            return False  # its commits are gone, or have nothing in common: nobody can tell any more


def read_log(output: str) -> list[tuple[CommittedChange, str]]:
    """Commits out of what git says of them in `_FIELDS`, with the name of the file behind each, and how git calls
    what it did: `M`, `R100`. Pure.
    """
    found = []
    for entry in output.split("\1")[1:]:
        about, _, names = entry.partition("\0")
        commit, time, author, subject = about.split("\2", 3)
        how, *paths = names.strip("\0").removeprefix("\n").split("\0")
        # Of a file that was renamed there are two names, the old one first; of a directory there are more.
        path = os.fsencode(paths[1 if how.startswith(("R", "C")) else 0]) if paths else b""
        change = CommittedChange(
            commit=commit, time=float(time), author=_text(author), subject=_text(subject)[:200], path=path
        )
        found.append((change, how))
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
