"""What holds the processes of a team together: finds them, ends them, and counts what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from corral.ports.keeper import Check, Ended


class Containment(Protocol):
    """Containment at one level for every team of an instance. Ends only what is proved to be the team's."""

    #: The level as `ps` shows it: "systemd", "cgroup" or "process".
    level: str

    async def end_runs(self, team: str, runs: Sequence[str], roots: Sequence[int], grace: float) -> Ended:
        """End these runs with everything they started. `roots` are the pids of their first processes."""

    async def end_team(self, team: str, grace: float) -> Ended:
        """End every process of the team, except for its tmux server."""

    def census(self, team: str) -> list[Check]:
        """Count what is left of the team, from the system alone and not from memory."""
