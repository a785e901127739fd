"""Can this repository carry the workspaces that a team declares? Pure."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Protocol

from corral.domain.errors import BadSpecError, RefusedError
from corral.domain.spec import SHARED, WORKTREE, AgentSpec, TeamSpec

#: `NONE`: there is something, and git does not take it for a repository. `EMPTY`: no commit yet.
MISSING, NONE, EMPTY, BARE, NORMAL = "missing", "none", "empty", "bare", "normal"
#: Every branch of an agent is below this.
BRANCHES = "corral"


class Facts(Protocol):
    """What was seen at the path; see `ports.workspace.Repository`."""

    @property
    def kind(self) -> str: ...

    @property
    def dirty(self) -> bool: ...

    @property
    def problem(self) -> str: ...

    @property
    def in_the_way(self) -> str: ...


def check(team: TeamSpec, agents: Sequence[AgentSpec], facts: Facts) -> list[str]:
    """Refuse a repository that cannot carry these agents, before anything is made; what a person should know else."""
    repo = team.repo
    worktrees = any(agent.workspace == WORKTREE for agent in agents)
    if facts.kind == MISSING:
        raise BadSpecError(f"{team.file}: team.repo: {repo} does not exist", "correct it, or leave repo out")
    if facts.kind == NONE and "dubious ownership" in facts.problem:
        raise BadSpecError(
            f"{team.file}: team.repo: {repo} belongs to somebody else, and git does not use it for that",
            f"git config --global --add safe.directory {repo} tells git that you trust it",
        )
    if facts.kind == NONE:
        raise BadSpecError(
            f"{team.file}: team.repo: {repo} is not a git repository",
            "correct it, run `git init` there, or leave repo out",
        )
    if facts.kind == EMPTY and worktrees:
        raise BadSpecError(
            f"{repo} has no commit yet, so no worktree can be made of it",
            'make a first commit, or set workspace = "shared"',
        )
    if facts.kind == BARE and any(agent.workspace == SHARED for agent in agents):
        raise BadSpecError(
            f"{repo} is a bare repository: there is nothing to share in it", 'set workspace = "worktree"'
        )
    if facts.in_the_way and worktrees:
        raise RefusedError(*branch_in_the_way(str(repo), facts.in_the_way, f"{facts.in_the_way}/{team.name}/…"))
    if facts.dirty and worktrees:
        return [f"{repo} has uncommitted changes; worktrees start from its last commit without them"]
    return []


def branch_in_the_way(repo: str, branch: str, wanted: str) -> tuple[str, str]:
    """git keeps branches like files: one name cannot be a branch and the beginning of others. Message and remedy."""
    return (
        f"the branch {branch} of {repo} is in the way: git cannot have {wanted} beside it",
        f"give it another name: git -C {quote(repo)} branch -m {quote(branch)} NEW-NAME",
    )
