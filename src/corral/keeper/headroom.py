"""How much of its own memory limit a team has left. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from corral.ports.usage import Usage


def free_share(usage: Sequence[Usage]) -> float | None:
    """Percent of the team's limit that is free, or could be at once; None if it has none, or nobody can tell.

    The contents of files that the kernel keeps in memory, because nobody needs it yet, count as free.
    """
    team = next((use for use in usage if not use.agent), None)
    if team is None or not team.memory_limit:
        return None
    used = max(0, team.memory_current - (team.memory_reclaimable or 0))
    return max(0.0, 100.0 * (team.memory_limit - used) / team.memory_limit)
