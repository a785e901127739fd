"""What agents of another user have committed comes into the person's repository: as objects that were looked at, and as
the one branch that is the agent's (ADR 32).

Everything that is written there is written by a git of the person's. What was handed in last is noted: only what the
agent itself has put there may be put aside by what it hands in next.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from corral.adapters.git.command import git
from corral.adapters.git.refs import is_hash, move
from corral.adapters.git.work import forget_branch
from corral.adapters.git.worktrees import common_dir, survey, turn
from corral.domain.copies import Move, branch_of
from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.repository import branch_in_the_way
from corral.git import GitError, answer
from corral.ports.lending import BranchPut

#: In the repository that a pack is in at first.
_HANDED = "refs/heads/handed"
#: Everything that would be done besides, left out; and everything that comes is looked at.
_FETCH = (
    *("-c", "core.bigFileThreshold=64m", "-c", "pack.windowMemory=64m", "-c", "pack.threads=1"),
    *("-c", "fetch.fsckObjects=true", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "protocol.file.allow=always", "-c", "fetch.writeCommitGraph=false"),
    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"),
)
#: The largest pack there may be, on a slow disk.
_FETCH_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What agents have handed in last, each in a file below a directory."""

    directory: str

    async def take(self, repo: str, team: str, agent: str, tip: str, apart: str, by: str) -> BranchPut:
        """See `Lending.hand_in`. `apart` is the repository that its pack is in; empty if all of it is here."""
        if not is_hash(tip):
            raise WrongUseError(f"{tip!r:.80} is not the name of a commit")
        if apart:
            await self._fetch(repo, tip, apart)
        common = await common_dir(repo)
        async with turn(common):
            known = await survey(common, repo)
            branch = branch_of(team, agent)
            if where := known.holders.get(branch):
                raise RefusedError(
                    f"{branch} is checked out in {where}, and {agent} has new commits for it",
                    "switch to another branch there",
                )
            if where := known.in_the_way(branch):
                raise RefusedError(*branch_in_the_way(repo, where, branch))
            now = await _tip(repo, branch)
            if now == tip:
                return BranchPut()
            noted = self._noted(team, agent, common, branch)
            if now and now not in noted and not await _leads_to(repo, now, tip):
                raise RefusedError(
                    f"{branch} in {repo} has commits that {agent} has not, and what {agent} committed was not put in "
                    f"their place; in its worktree they are refs/corral/theirs/heads/{branch}",
                    f"have {agent} merge them, or keep them: git -C {shlex.quote(repo)} branch -m {branch} ANOTHER",
                )
            # Both count until it has moved: whoever does this may be killed at any moment.
            await asyncio.to_thread(self._note, team, agent, common, branch, [tip, *({now} & set(noted))])
            await move(repo, [Move(f"refs/heads/{branch}", tip, now)], f"corral: handed in by {by}")
            await asyncio.to_thread(self._note, team, agent, common, branch, [tip])
            return BranchPut(moved=True, before=now)

    async def settle(self, repo: str, team: str, agent: str, *, discard: bool) -> None:
        """See `Lending.settle_branch`."""
        common = await common_dir(repo)
        async with turn(common, removing=True):
            known = await survey(common, repo)
            branch = branch_of(team, agent)
            if self._noted(team, agent, common, branch):
                await forget_branch(repo, known, branch, "", discard=discard)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._file(team, agent))
        with contextlib.suppress(OSError):  # other agents of the team have handed something in
            os.rmdir(os.path.join(self.directory, team))

    @staticmethod
    async def _fetch(repo: str, tip: str, apart: str) -> None:
        try:
            await git(apart, "update-ref", _HANDED, tip)
            await git(repo, *_FETCH, apart, _HANDED, seconds=_FETCH_SECONDS)
        except GitError as error:
            raise RefusedError(
                f"git does not take it in: {error.message}",
                "where git says nothing of this disk: git fsck in the worktree of the agent says what is the matter",
            ) from error

    def _file(self, team: str, agent: str) -> str:
        return os.path.join(self.directory, team, agent)

    def _noted(self, team: str, agent: str, common: str, branch: str) -> list[str]:
        """Where the agent has put the branch, or may have; nowhere, if it has not in this repository."""
        try:
            with open(self._file(team, agent), encoding="utf-8", errors="surrogateescape") as file:
                where, name, *tips = [*file.read().split("\0"), ""]
        except FileNotFoundError:
            return []
        return [tip for tip in tips if tip] if (where, name) == (common, branch) else []

    def _note(self, team: str, agent: str, common: str, branch: str, tips: Sequence[str]) -> None:
        path = self._file(team, agent)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\0".join((common, branch, *tips)))
        os.replace(f"{path}.new", path)


async def _tip(repo: str, branch: str) -> str:
    code, said = await asyncio.to_thread(
        answer, repo, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", accept=(0, 1)
    )
    return said.strip() if code == 0 else ""


async def _leads_to(repo: str, old: str, new: str) -> bool:
    """Whether a commit is behind another one, or is it."""
    code, _ = await asyncio.to_thread(answer, repo, "merge-base", "--is-ancestor", old, new, accept=(0, 1))
    return code == 0
