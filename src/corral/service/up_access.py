"""Before anything is made: whether something on this host sees to what agents are declared to touch."""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.access import Obstacles, enforced, objection
from corral.domain.errors import RefusedError
from corral.domain.spec import SHARED, WORKTREE, AgentSpec, TeamSpec


def refuse_unenforced(team: TeamSpec, agents: Sequence[AgentSpec], obstacles: Obstacles) -> None:
    """Raise `RefusedError` for what is declared and nothing here would see to; it names all agents that declare it."""
    refused: dict[tuple[str, str], list[str]] = {}
    for agent in agents:
        seen = enforced(
            agent.access,
            agent.bind,
            obstacles,
            repository=team.repo is not None and agent.workspace in (WORKTREE, SHARED),
            hooks=agent.workspace == WORKTREE and team.enforcement.worktrees,
        )
        said = objection(agent.access, agent.bind, obstacles, seen)
        if said[0]:
            refused.setdefault(said, []).append(agent.name)
    for (message, remedy), names in refused.items():
        raise RefusedError(f"{', '.join(names)}: {message}", f"{remedy}; nothing was started")
