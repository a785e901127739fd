"""Where agents work."""

from __future__ import annotations

from typing import Protocol

from corral.domain.enforcement import Enforcement
from corral.ports.conversations import ForkPoint
from corral.ports.keeper import Repository, Workspace, WorkspaceRemoval


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
