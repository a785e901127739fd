"""Workspaces: git worktrees of the agents' own, and directories that were there before."""

from __future__ import annotations

import asyncio
import logging
import os

from corral.adapters.git.command import GitError, git
from corral.domain.errors import BadSpecError, CorralError, RefusedError
from corral.places import Places
from corral.ports.keeper import Repository, Workspace, WorkspaceRemoval

log = logging.getLogger("corral.keeper")


#: Asked so that no setting of the person's can hide a file from us.
_STATUS = ("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=none")


def branch_of(team: str, agent: str) -> str:
    """The branch that an agent's worktree is on."""
    return f"corral/{team}/{agent}"


class GitWorkspaces:
    """See `ports.workspace.Workspaces`."""

    def __init__(self, places: Places) -> None:
        self._places = places
        # Parallel `worktree add` races on the repository's config.lock.
        self._one_at_a_time: dict[str, asyncio.Lock] = {}

    async def repository(self, path: str) -> Repository:
        """What kind of repository is at `path`; never fails for one that is none."""
        if not os.path.isdir(path):
            return Repository(path=path, kind="missing")
        try:
            bare = (await git(path, "rev-parse", "--is-bare-repository")).strip() == "true"
        except GitError as error:
            return Repository(path=path, kind="none", problem=error.message)
        try:
            head = (await git(path, "rev-parse", "--verify", "--quiet", "HEAD")).strip()
        except GitError:
            return Repository(path=path, kind="empty")
        if bare:
            return Repository(path=path, kind="bare", head=head)
        dirty = bool((await git(path, *_STATUS)).strip())
        return Repository(path=path, kind="normal", head=head, dirty=dirty)

    async def prepare(self, *, team: str, agent: str, kind: str, path: str, repo: str | None) -> Workspace:
        """See `Workspaces.prepare`."""
        if kind != "worktree":
            return self._directory(kind, path)
        if repo is None:
            raise BadSpecError(f"{agent} wants a worktree, but the team has no repo", 'set repo = "." in [team]')
        async with self._one_at_a_time.setdefault(repo, asyncio.Lock()):
            return await self._worktree(path, repo, branch_of(team, agent))

    async def inspect(self, team: str) -> list[WorkspaceRemoval]:
        """See `Workspaces.inspect`."""
        root = os.path.dirname(self._places.worktree(team, "any"))
        if not os.path.isdir(root):
            return []
        found = []
        for name in sorted(os.listdir(root)):
            path = os.path.join(root, name)
            found.append(WorkspaceRemoval(path=path, removed=False, why=await _work_in(path, branch_of(team, name))))
        return found

    async def remove(self, *, team: str, agent: str, path: str, repo: str | None, discard: bool) -> WorkspaceRemoval:
        """See `Workspaces.remove`. Only worktrees that Corral made are ever removed."""
        if path != self._places.worktree(team, agent):
            return WorkspaceRemoval(path=path, removed=False)
        branch = branch_of(team, agent)
        if not os.path.isdir(path):
            if repo is not None:
                await self._forget_deleted(path, repo, branch)
            return WorkspaceRemoval(path=path, removed=False)
        if repo is not None and not await _is_worktree_of(path, repo):
            return WorkspaceRemoval(path=path, removed=False, why=f"not a worktree of {repo}")
        work = await _work_in(path, branch)
        if work and not discard:
            return WorkspaceRemoval(path=path, removed=False, why=work)
        try:
            common = (await git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")).strip()
            tip = (await git(path, "rev-parse", "--short", "HEAD")).strip()
            async with self._one_at_a_time.setdefault(repo or common, asyncio.Lock()):
                await git(common, "worktree", "remove", *(["--force", "--force"] if discard else []), path)
                if await _branch_exists(common, branch):
                    # What the branch holds is elsewhere too, or was to be thrown away.
                    await git(common, "branch", "-D", branch)
        except GitError as error:
            return WorkspaceRemoval(path=path, removed=not os.path.isdir(path), why=error.message)
        _remove_if_empty(os.path.dirname(path))
        return WorkspaceRemoval(path=path, removed=True, why=f"discarded {work} (it was at {tip})" if work else "")

    async def _forget_deleted(self, path: str, repo: str, branch: str) -> None:
        """Somebody deleted the worktree by hand: have git forget it. Its branch stays if it has commits of its own."""
        try:
            async with self._one_at_a_time.setdefault(repo, asyncio.Lock()):
                if await _is_worktree_of(path, repo):
                    await git(repo, "worktree", "remove", path)
                if await _branch_exists(repo, branch) and not await _commits_nowhere_else(repo, [branch], branch):
                    await git(repo, "branch", "-D", branch)
        except CorralError as error:
            log.warning("%s is gone, and git still knows it: %s", path, error.message)

    def _directory(self, kind: str, path: str) -> Workspace:
        if os.path.isdir(path):
            return Workspace(path=path, kind=kind)
        if kind == "shared":
            raise BadSpecError(f"the shared workspace {path} is not a directory", "correct repo in [team]")
        try:
            os.makedirs(path)
        except OSError as error:
            raise CorralError(
                f"cannot make the workspace {path}: {error.strerror}", "choose another, or make it writable"
            ) from error
        return Workspace(path=path, kind=kind, created=True)

    async def _worktree(self, path: str, repo: str, branch: str) -> Workspace:
        if os.path.isdir(path) and os.listdir(path):
            return await self._found_again(path, repo, branch)
        if os.path.lexists(path) and not os.path.isdir(path):
            raise RefusedError(f"{path} is in the way: it is not a directory", "look at what it is and move it away")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        known = await _branch_exists(repo, branch)
        # --force: our own path may still be registered after somebody deleted the directory by hand.
        force = ["--force"] if await _is_worktree_of(path, repo) else []
        try:
            if known:
                await git(repo, "worktree", "add", *force, path, branch)
            else:
                await git(repo, "worktree", "add", *force, "--no-track", "-b", branch, path, "HEAD")
        except GitError as error:
            if "already" in error.message and branch in error.message:
                raise RefusedError(error.message, f"another instance works on {branch}: rename the team") from error
            if not known and await _branch_exists(repo, branch):
                await git(repo, "branch", "-D", branch)  # made a moment ago, so there is nothing on it
            raise
        note = f"goes on with branch {branch} from last time" if known else ""
        return Workspace(path=path, kind="worktree", branch=branch, created=True, note=note)

    async def _found_again(self, path: str, repo: str, branch: str) -> Workspace:
        """A worktree from last time is used again as it is, work included; anything else is left alone."""
        if not await _is_worktree_of(path, repo):
            raise RefusedError(
                f"{path} is in the way: it is not a worktree of {repo}",
                "look at what is in it and move it away; Corral does not delete it",
            )
        work = await _work_in(path, branch)
        note = f"worktree from last time, with {work}" if work else "worktree from last time"
        return Workspace(path=path, kind="worktree", branch=branch, note=note)


async def _is_worktree_of(path: str, repo: str) -> bool:
    """True if git has `path` on its list of the repository's worktrees, whether or not the directory is there."""
    listing = await git(repo, "worktree", "list", "--porcelain", "-z")
    # git writes down what a path really is, and ours may lead through a link.
    return f"worktree {os.path.realpath(path)}" in listing.split("\0")


async def _branch_exists(directory: str, branch: str) -> bool:
    return bool((await git(directory, "branch", "--list", "--format=%(refname:short)", branch)).strip())


async def _commits_nowhere_else(directory: str, tips: list[str], branch: str) -> int:
    """How many commits of `tips` no other branch, tag or remote has. git matches --exclude below refs/heads."""
    elsewhere = ["--not", f"--exclude={branch}", "--branches", "--tags", "--remotes"]
    return int(await git(directory, "rev-list", "--count", *tips, *elsewhere))


async def _work_in(path: str, branch: str) -> str:
    """What would be lost with a worktree, in words; empty if nothing would be."""
    try:
        changes = (await git(path, *_STATUS)).splitlines()
        hidden = _hidden_from_status(path, (await git(path, "ls-files", "-v", "-z")).split("\0"))
        # HEAD as well as the branch: it may be detached.
        tips = ["HEAD", branch] if await _branch_exists(path, branch) else ["HEAD"]
        commits = await _commits_nowhere_else(path, tips, branch)
    except CorralError as error:
        return f"contents that cannot be checked ({error.message})"
    untracked = sum(line.startswith("??") for line in changes)
    counts = [
        (len(changes) - untracked, "changed file", "changed files"),
        (untracked, "untracked file", "untracked files"),
        (hidden, "file whose changes git does not show", "files whose changes git does not show"),
        (commits, "commit that is nowhere else", "commits that are nowhere else"),
    ]
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def _hidden_from_status(path: str, listing: list[str]) -> int:
    """Files that git was told not to look at, and that are there all the same: they may hold anything."""
    marked = [entry[2:] for entry in listing if entry[:1] == "S" or entry[:1].islower()]
    return sum(os.path.lexists(os.path.join(path, name)) for name in marked)


def _remove_if_empty(directory: str) -> None:
    if not os.listdir(directory):
        os.rmdir(directory)
