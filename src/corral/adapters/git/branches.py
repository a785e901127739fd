"""Which branch an agent's worktree is on. Pure.

It is `corral/TEAM/AGENT`. Another instance may have a team of the same name on the same repository, and git has a
branch in one worktree only; then it is `corral/TEAM/AGENT.INSTANCE`. No name has a dot, so this is no other agent's
branch, and neither of the two is a directory of the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.domain.repository import BRANCHES, branch_in_the_way


@dataclass(frozen=True, slots=True)
class Names:
    """The two branches that may be an agent's."""

    plain: str
    #: Carries the instance: nobody else makes it.
    own: str

    @classmethod
    def of(cls, team: str, agent: str, instance: str) -> Names:
        plain = f"{BRANCHES}/{team}/{agent}"
        return cls(plain, f"{plain}.{instance}")

    def __contains__(self, branch: object) -> bool:
        return branch in (self.plain, self.own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the repository says about branches and worktrees."""

    #: Its git directory, the one that all worktrees share.
    common: str
    #: The branches `corral` and `corral/…` that there are.
    branches: Collection[str]
    #: Real paths of the worktrees that git knows, whether or not the directory is there.
    worktrees: Collection[str]
    #: branch → the worktree that has it checked out, or that was made for it.
    holders: Mapping[str, str]

    def holder(self, branch: str, path: str) -> str:
        """The worktree that has `branch`, if it is another than the one at `path`; else empty."""
        holder = self.holders.get(branch, "")
        return "" if holder == path else holder

    def in_the_way(self, branch: str) -> str:
        """A branch that makes `branch` impossible, because one of them would be a directory of the other."""
        for other in sorted(self.branches):
            if branch.startswith(other + "/") or other.startswith(branch + "/"):
                return other
        return ""


def choose(names: Names, survey: Survey, path: str, repo: str) -> str:
    """The branch for a new worktree at `path` (real). What is left from last time comes first."""
    wanted = [names.own] if names.own in survey.branches else [names.plain, names.own]
    for branch in wanted:
        if not survey.holder(branch, path) and not survey.in_the_way(branch):
            return branch
    branch = wanted[-1]
    if blocker := survey.in_the_way(branch):
        raise RefusedError(*branch_in_the_way(repo, blocker, branch))
    raise RefusedError(
        f"the branch {branch} is checked out in {survey.holder(branch, path)}",
        "switch to another branch there, then run corral up again",
    )


def guess(names: Names, survey: Survey, path: str, head: str) -> str:
    """The branch that the worktree at `path` (real) was made for, where that was not noted; never somebody else's."""
    if head in names:
        return head
    if names.own in survey.branches or survey.holder(names.plain, path):
        return names.own
    return names.plain
