"""Workspaces that gates run in: detached worktrees below Corral's home, with the merged tree and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import stat

from corral import git as command
from corral.adapters.git.worktrees import common_dir, turn
from corral.domain.errors import CorralError, RefusedError
from corral.git import GitError
from corral.places import Places

log = logging.getLogger("corral.keeper")

#: A checkout may be large.
_SECONDS = 300.0
#: So many directories are tried, if those before cannot be removed.
_MOST_BESIDE = 20
#: A pattern of a sparse checkout that leaves nothing out, with and without cones.
_EVERYTHING = "/*\n"
#: What a checkout is called. Of where others say that worktrees are, nothing else is believed.
_OURS = re.compile(r"[0-9a-f]{1,16}(-[0-9]+)?")


class MergeCheckouts:
    """One directory for each team; nothing of a person's or an agent's is ever in it."""

    def __init__(self, places: Places) -> None:
        self._root = os.path.realpath(os.path.dirname(places.merge_dir("any")))

    async def make(self, *, team: str, repo: str, commit: str) -> str:
        """See `Merging.merge_checkout`. Made anew for each commit: what an earlier gate left decides nothing."""
        directory = os.path.join(self._root, team)
        if os.path.islink(directory):
            raise RefusedError(f"{directory} is a symbolic link, and Corral follows none there", "move the link away")
        async with turn(await common_dir(repo)):
            path = await asyncio.to_thread(self._free, repo, os.path.join(directory, commit[:16]))
            os.makedirs(directory, mode=0o700, exist_ok=True)
            await asyncio.to_thread(self._check_out, repo, path, commit)
        return path

    async def clear(self, *, team: str, repo: str) -> list[str]:
        """Remove all of a team; those that could not be removed, and why."""
        directory = os.path.join(self._root, team)
        if os.path.islink(directory):
            return []
        left = []
        async with turn(await common_dir(repo), removing=True):
            for path in await asyncio.to_thread(self._all, repo, directory):
                try:
                    await asyncio.to_thread(self._remove, repo, path)
                except (CorralError, OSError) as error:
                    left.append(f"{path}: {error}")
            with contextlib.suppress(OSError):  # it is not there; or what could not be removed is in it, and named
                os.rmdir(directory)
        return left

    @staticmethod
    def _all(repo: str, directory: str) -> list[str]:
        """What is in the directory, and what git knows there: a gate may have removed its own workspace."""
        listing = command.git(repo, "worktree", "list", "--porcelain", "-z").split("\0")
        known = (line.removeprefix("worktree ") for line in listing if line.startswith("worktree "))
        found = {
            path for path in known if os.path.dirname(path) == directory and _OURS.fullmatch(os.path.basename(path))
        }
        if os.path.isdir(directory):
            found.update(os.path.join(directory, name) for name in os.listdir(directory))
        return sorted(found)

    def _free(self, repo: str, wanted: str) -> str:
        """A path with nothing at it: the one wanted, or beside it if what an earlier gate left there will not go."""
        for number in range(1, _MOST_BESIDE + 1):
            path = wanted if number == 1 else f"{wanted}-{number}"
            try:
                self._remove(repo, path)
            except (CorralError, OSError) as error:
                log.warning("%s cannot be removed: %s", path, error)
                continue
            return path
        raise RefusedError(
            f"{wanted} and {_MOST_BESIDE - 1} directories beside it cannot be removed", "remove them, then it goes on"
        )

    @staticmethod
    def _check_out(repo: str, path: str, commit: str) -> None:
        # The person's hooks are for the person's checkouts: no `making`.
        command.git(repo, "worktree", "add", "--no-checkout", "--detach", "--force", path, commit, seconds=_SECONDS)
        # What the person has left out of the checkout is left out of a new worktree as well. A gate is for all of it.
        patterns = command.git(path, "rev-parse", "--path-format=absolute", "--git-path", "info/sparse-checkout")
        if os.path.lexists(patterns := patterns.rstrip("\n")):
            with open(patterns, "w", encoding="ascii") as file:
                file.write(_EVERYTHING)
        command.git(path, "reset", "--hard", "--no-recurse-submodules", "--quiet", seconds=_SECONDS)

    @staticmethod
    def _remove(repo: str, path: str) -> None:
        make_removable(path)
        try:
            command.git(repo, "worktree", "remove", "--force", "--force", path, seconds=_SECONDS)
        except GitError:
            # It was made half, or a gate broke it; or git never knew it. All in it is ours.
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
            with contextlib.suppress(GitError):  # it knows nothing of it
                command.git(repo, "worktree", "remove", "--force", "--force", path)


def make_removable(path: str) -> None:
    """Let us look into every directory at and below `path`, and take things out of it. No link is followed."""
    if not os.path.isdir(path) or os.path.islink(path):
        return
    _open(path)
    for directory, names, _ in os.walk(path):
        for name in names:
            _open(os.path.join(directory, name))


def _open(path: str) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(path, stat.S_IMODE(mode) | stat.S_IRWXU)
