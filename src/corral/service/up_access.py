"""Before anything is made: whether something on this host sees to what agents are declared to touch."""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.access import Obstacles, enforced, objections
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
        for said in objections(agent.access, agent.bind, obstacles, seen):
            refused.setdefault(said, []).append(agent.name)
    if refused:
        messages = [f"{', '.join(names)}: {message}" for (message, _), names in refused.items()]
        remedies = dict.fromkeys(remedy for _, remedy in refused)
        raise RefusedError("; ".join(messages), f"{'; '.join(remedies)}; nothing was started")
