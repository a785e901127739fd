"""What holds the processes of a team together: finds them, limits them, ends them, and counts what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from corral.domain.limits import NO_LIMITS, Limits
from corral.ports.census import Check
from corral.ports.runs import Ended
from corral.ports.usage import Usage

#: The levels, the best first: a scope of systemd's, a cgroup of our own, nothing but a marker.
SYSTEMD, CGROUP, PROCESS = "systemd", "cgroup", "process"
#: What a team has that is no agent: the server of its terminals, and the host of its processes.
SERVERS = TMUX, HOST = "tmux", "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A run that is to be contained, before it starts anything."""

    agent: str
    run: str
    #: Its first process, which waits at its gate.
    pid: int
    limits: Limits = NO_LIMITS


@dataclass(slots=True, kw_only=True)
class Admission:
    """What came of containing some runs."""

    #: The level that each run has now.
    levels: dict[str, str] = field(default_factory=dict)
    #: The cgroup of the agent that each run is in now, as `/proc/PID/cgroup` has it; none at the last level.
    cgroups: dict[str, str] = field(default_factory=dict)
    #: Why a run has no better level than that.
    problems: dict[str, str] = field(default_factory=dict)
    #: What a person should know besides: limits that nothing enforces.
    notes: list[str] = field(default_factory=list)


class Containment(Protocol):
    """Containment for every team of an instance on one host. Ends only what is proved to be the team's."""

    #: The best level that this host offers.
    level: str
    #: Why it offers no better one; empty at the best.
    why: str

    async def shelter(self, team: str, server_pid: int, what: str) -> None:
        """Give a server of the team a place of its own, where neither agents nor the keeper share its fate.

        `what` is one of `SERVERS`.
        """

    async def place_of(self, team: str, agent: str) -> str:
        """The directory of the cgroup of an agent that runs; empty if it has none."""

    async def shelter_daemon(self, pid: int) -> None:
        """The same for the daemon of this user. Raises if it could not be done."""

    async def admit(self, team: str, placements: Sequence[Placement], team_limits: Limits) -> Admission:
        """Put first processes where everything that they start stays with them."""

    async def limit(self, team: str, limits: Mapping[str, Limits], team_limits: Limits) -> list[str]:
        """Change the limits of agents that run, and of their team. Returns what could not be done, in words."""

    async def freeze(self, team: str, runs: Mapping[str, str], *, frozen: bool) -> None:
        """Keep every process of these runs (run → agent) from running, or let them run again."""

    async def end_runs(
        self, team: str, runs: Mapping[str, str], roots: Sequence[int], grace: float, *, spare: bool
    ) -> Ended:
        """End these runs (run → agent) with everything they started. `roots` are the pids of their first processes.

        With `spare`, processes that were started for the agents (`ports.processes`) go on; else they end as well.
        """

    async def end_team(self, team: str, grace: float) -> Ended:
        """End every process of the team, except for its servers."""

    async def forget_team(self, team: str) -> None:
        """The team is gone, its servers too: take away what only held it together."""

    async def usage(self, team: str) -> list[Usage]:
        """What each agent uses, and the team as a whole."""

    async def members(self, team: str) -> dict[str, list[int]]:
        """Agent → the pids of everything of it that runs, as far as this level can tell whose it is."""

    async def census(self, team: str) -> list[Check]:
        """Count what is left of the team, from the system alone and not from memory.

        Except for ports: which were the team's is noted by `end_team`, because nothing says so afterwards.
        """
