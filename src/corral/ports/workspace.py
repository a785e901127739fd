"""Where agents work."""

from __future__ import annotations

from typing import Protocol

from corral.domain.enforcement import Enforcement
from corral.ports.conversations import ForkPoint
from corral.ports.record import Record


class Repository(Record, frozen=True):
    """What is at the path a team names as its repository."""

    path: str
    #: "normal", "bare", "empty" (no commit yet), "none" (not a repository) or "missing".
    kind: str
    head: str = ""
    #: The branch that HEAD names; empty if it names none.
    branch: str = ""
    #: It has changes that are in no commit, and so in no worktree.
    dirty: bool = False
    problem: str = ""
    #: A branch that no branch of an agent can be beside.
    in_the_way: str = ""
    #: The directory that git keeps it in, as it really is; all its worktrees share it.
    common: str = ""
    #: Names that differ in case alone are one file there: git was told so, or it is so.
    ignore_case: bool = False


class Workspace(Record, frozen=True):
    """A directory that an agent may work in."""

    path: str
    kind: str
    branch: str = ""
    #: True if this call made it; false if it was there already.
    created: bool = False
    #: Something a person should know: the repository is dirty, an old worktree is used again, …
    note: str = ""


class WorkspaceRemoval(Record, frozen=True):
    """What became of a workspace: removed, or kept for the work in it."""

    path: str
    removed: bool
    #: Why it was kept, or what was thrown away with it.
    why: str = ""
    #: It is no worktree of ours, and a person has to move it away: `discard` does not remove it.
    in_the_way: bool = False
    #: Why it is still there although nothing in it is a reason to keep it: git's words, if git refused.
    problem: str = ""


class Workspaces(Protocol):
    """Makes and removes workspaces. Nothing that holds work is removed unless `discard` says so."""

    async def repository(self, path: str) -> Repository:
        """What kind of repository is at `path`."""

    async def prepare(
        self, *, team: str, agent: str, kind: str, path: str, repo: str | None, start: str = "", access: str = "none"
    ) -> Workspace:
        """Make the workspace, or find the one that is there. A new worktree begins with the commit `start`, if any.

        `access`, one of `group_access.GROUP_ACCESS`, is what the group of a worktree's directory may do in it.
        """

    async def fork_point(self, path: str) -> ForkPoint:
        """See `Conversing.fork_point`."""

    async def guard(self, *, team: str, agent: str, path: str, enforcement: Enforcement, target: str) -> str:
        """Have the hooks of an agent's worktree be as the team's settings say; without any, leave no trace of them.

        The answer is what a person should know of it; empty if all is well.
        """

    async def register(self, path: str, profile: str) -> str:
        """Tell the coding agent of that profile, which works at `path`, of Corral's MCP server.

        The answer is what a person should know of it; empty if all is well.
        """

    async def register_hooks(self, path: str, profile: str, *, remove: bool) -> str:
        """Tell the coding agent of that profile, which works at `path`, of Corral's hooks, or no more. As above."""

    async def inspect(self, team: str) -> list[WorkspaceRemoval]:
        """The worktrees of the team that exist; `why` names the work in each, empty if there is none."""

    async def remove(self, *, team: str, agent: str, path: str, repo: str | None, discard: bool) -> WorkspaceRemoval:
        """Remove a worktree if nothing would be lost."""


class WorkspaceVerbs(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def repository(self, path: str) -> Repository:
        """What kind of repository is at `path`."""

    async def prepare_workspace(
        self, *, team: str, agent: str, kind: str, path: str, repo: str | None, start: str = "", access: str = "none"
    ) -> Workspace:
        """Make, or find again, the workspace of an agent. Work that is in it stays.

        A worktree that is made begins with the commit `start`, or where the repository is now.
        """

    async def guard_workspace(
        self, *, team: str, agent: str, path: str, enforcement: Enforcement, target: str = ""
    ) -> str:
        """Have the hooks of an agent's worktree be as the team's settings say; without any, leave no trace of them.

        `target` is the branch of the merge queue; empty if there is none.
        The answer is what a person should know of it; empty if all is well.
        """

    async def register_server(self, *, path: str, profile: str) -> str:
        """Tell the coding agent of that profile, which works at `path`, of Corral's MCP server.

        The answer is what a person should know of it; empty if all is well.
        """

    async def register_hooks(self, *, path: str, profile: str, remove: bool) -> str:
        """Tell the coding agent of that profile, which works at `path`, of Corral's hooks, or no more.

        The answer is as above; that it could not be done is an error.
        """

    async def inspect_workspaces(self, team: str) -> list[WorkspaceRemoval]:
        """The worktrees of `team` that exist, each with the work that is in it (`why`)."""

    async def remove_workspace(
        self, *, team: str, agent: str, path: str, repo: str | None, discard: bool
    ) -> WorkspaceRemoval:
        """Remove a worktree if no work would be lost by it, or if `discard` says so."""
