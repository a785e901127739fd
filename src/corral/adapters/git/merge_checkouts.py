"""Workspaces that gates run in: detached worktrees below Corral's home, with the merged tree and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil

from corral import git as command
from corral.adapters.git.worktrees import common_dir, turn
from corral.domain.errors import CorralError, RefusedError
from corral.git import GitError
from corral.places import Places

#: A checkout may be large.
_SECONDS = 300.0


class MergeCheckouts:
    """One directory for each team; nothing of a person's or an agent's is ever in it."""

    def __init__(self, places: Places) -> None:
        self._root = os.path.realpath(os.path.dirname(places.merge_dir("any")))

    async def make(self, *, team: str, repo: str, commit: str) -> str:
        """See `Merging.merge_checkout`. Made anew for each commit: what an earlier gate left decides nothing."""
        path = os.path.join(self._root, team, commit[:16])
        if os.path.islink(os.path.dirname(path)):
            raise RefusedError(
                f"{os.path.dirname(path)} is a symbolic link, and Corral follows none there", "move the link away"
            )
        async with turn(await common_dir(repo)):
            await asyncio.to_thread(self._remove, repo, path)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            # The person's hooks are for the person's checkouts: no `making`.
            await asyncio.to_thread(
                command.git, repo, "worktree", "add", "--detach", "--force", path, commit, seconds=_SECONDS
            )
        return path

    async def clear(self, *, team: str, repo: str) -> list[str]:
        """Remove all of a team; those that could not be removed, and why."""
        directory = os.path.join(self._root, team)
        if not os.path.isdir(directory) or os.path.islink(directory):
            return []
        left = []
        async with turn(await common_dir(repo), removing=True):
            for name in sorted(os.listdir(directory)):
                path = os.path.join(directory, name)
                try:
                    await asyncio.to_thread(self._remove, repo, path)
                except (CorralError, OSError) as error:
                    left.append(f"{path}: {error}")
            with contextlib.suppress(OSError):  # what could not be removed is in it, and named
                os.rmdir(directory)
        return left

    @staticmethod
    def _remove(repo: str, path: str) -> None:
        try:
            command.git(repo, "worktree", "remove", "--force", "--force", path, seconds=_SECONDS)
        except GitError:
            # It was made half, or a gate broke it; or git never knew it. All in it is ours.
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            with contextlib.suppress(GitError):  # it knows nothing of it
                command.git(repo, "worktree", "remove", "--force", "--force", path)
