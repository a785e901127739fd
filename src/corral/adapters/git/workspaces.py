"""Workspaces: git worktrees of the agents' own, and directories that were there before."""

from __future__ import annotations

import asyncio
import os

from corral.adapters.git.command import GitError, git
from corral.domain.errors import BadSpecError, CorralError, RefusedError
from corral.places import Places
from corral.ports.keeper import Repository, Workspace, WorkspaceRemoval


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
        dirty = bool((await git(path, "status", "--porcelain", "--untracked-files=normal")).strip())
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
        if path != self._places.worktree(team, agent) or not os.path.isdir(path):
            return WorkspaceRemoval(path=path, removed=False)
        branch = branch_of(team, agent)
        work = await _work_in(path, branch)
        if work and not discard:
            return WorkspaceRemoval(path=path, removed=False, why=work)
        try:
            common = (await git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")).strip()
            tip = (await git(path, "rev-parse", "--short", "HEAD")).strip()
            async with self._one_at_a_time.setdefault(repo or common, asyncio.Lock()):
                await git(common, "worktree", "remove", *(["--force", "--force"] if discard else []), path)
                # What the branch holds is elsewhere too, or was to be thrown away.
                await git(common, "branch", "-D", branch)
        except GitError as error:
            return WorkspaceRemoval(path=path, removed=not os.path.isdir(path), why=error.message)
        _remove_if_empty(os.path.dirname(path))
        return WorkspaceRemoval(path=path, removed=True, why=f"discarded {work} (it was at {tip})" if work else "")

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
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        known = (await git(repo, "branch", "--list", "--format=%(refname:short)", branch)).strip()
        # --force: our own path may still be registered after somebody deleted the directory by hand.
        registered = path in await _registered(repo)
        force = ["--force"] if registered else []
        try:
            if known:
                await git(repo, "worktree", "add", *force, path, branch)
            else:
                await git(repo, "worktree", "add", *force, "--no-track", "-b", branch, path, "HEAD")
        except GitError as error:
            if "already" in error.message and branch in error.message:
                raise RefusedError(error.message, f"another instance works on {branch}: rename the team") from error
            raise
        note = f"goes on with branch {branch} from last time" if known else ""
        return Workspace(path=path, kind="worktree", branch=branch, created=True, note=note)

    async def _found_again(self, path: str, repo: str, branch: str) -> Workspace:
        """A worktree from last time is used again as it is, work included; anything else is left alone."""
        if path not in await _registered(repo):
            raise RefusedError(
                f"{path} is in the way: it is not a worktree of {repo}",
                "look at what is in it and move it away; Corral does not delete it",
            )
        work = await _work_in(path, branch)
        note = f"worktree from last time, with {work}" if work else "worktree from last time"
        return Workspace(path=path, kind="worktree", branch=branch, note=note)


async def _registered(repo: str) -> set[str]:
    listing = await git(repo, "worktree", "list", "--porcelain", "-z")
    return {entry.removeprefix("worktree ") for entry in listing.split("\0") if entry.startswith("worktree ")}


async def _work_in(path: str, branch: str) -> str:
    """What would be lost with a worktree, in words; empty if nothing would be."""
    try:
        changes = [line for line in (await git(path, "status", "--porcelain")).splitlines() if line]
        # Commits that no other branch, tag or remote has. HEAD as well: it may be detached.
        elsewhere = ["--not", f"--exclude=refs/heads/{branch}", "--branches", "--tags", "--remotes"]
        own = ["HEAD", branch] if (await git(path, "branch", "--list", branch)).strip() else ["HEAD"]
        commits = int(await git(path, "rev-list", "--count", *own, *elsewhere))
    except CorralError as error:
        return f"contents that cannot be checked ({error.message})"
    untracked = sum(line.startswith("??") for line in changes)
    counts = [
        (len(changes) - untracked, "changed file", "changed files"),
        (untracked, "untracked file", "untracked files"),
        (commits, "commit that is nowhere else", "commits that are nowhere else"),
    ]
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def _remove_if_empty(directory: str) -> None:
    if not os.listdir(directory):
        os.rmdir(directory)
