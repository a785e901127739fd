"""What whoever starts something of an agent tells a keeper of what the agent may touch."""

from __future__ import annotations

from corral.agents.catalogue import for_command
from corral.domain.access import Enforced, Obstacles, enforced
from corral.domain.confinement import NO_CONFINES, Confines, is_confined
from corral.domain.copies import copy_beside, guest_of
from corral.domain.records import Agent, Team
from corral.domain.spec_model import SHARED, WORKTREE


def confines_of(team: Team, agent: Agent) -> Confines:
    """What the agent is to be kept to, besides its ports."""
    if not is_confined(agent.access, agent.bind):
        return NO_CONFINES
    profile = for_command(agent.command, agent.shell)
    repository = copy_beside(agent.workspace) if guest_of(team, agent) else team.repository
    return Confines(
        access=agent.access,
        repository=repository if is_of_repository(team, agent.workspace_kind) else "",
        linked=agent.workspace_kind == WORKTREE,
        state=profile.state if profile is not None else (),
    )


def enforced_of(team: Team, agent: Agent, obstacles: Obstacles) -> Enforced:
    """What sees to it on a host."""
    return enforced(
        agent.access,
        agent.bind,
        obstacles,
        repository=is_of_repository(team, agent.workspace_kind),
        hooks=agent.workspace_kind == WORKTREE and team.enforcement.worktrees,
    )


def is_of_repository(team: Team, workspace_kind: str) -> bool:
    """True if paths in its workspace are paths in the team's repository."""
    return team.repo is not None and workspace_kind in (WORKTREE, SHARED)
