"""Where the worktrees of a shared server are, and having room made for them."""

from __future__ import annotations

from typing import Protocol

from corral.domain.group_access import GroupAccess


class Rooms(Protocol):
    """Directories of users below one place that is root's."""

    def worktree(self, user: str, team: str, agent: str) -> str:
        """The path of an agent's worktree."""

    async def make(self, user: str, team: str, agent: str, access: GroupAccess) -> None:
        """Have that directory: the user's, with a mode that lets in nobody but the user and the group.

        `RefusedError` if the user is not in the group.
        """
