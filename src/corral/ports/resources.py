"""What agents may use and do use of their host: memory, processors, and ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from corral.domain.limits import Limits
from corral.ports.record import Record

if TYPE_CHECKING:
    from corral.ports.memory import HostMemory
    from corral.ports.usage import Usage


class HostPorts(Record, frozen=True):
    """What is to be known of the ports of a host before some are given away."""

    #: The first and the last port that the kernel gives to outgoing connections.
    ephemeral: tuple[int, int]
    #: Those of the ports asked for that nobody could listen on now, because somebody does.
    taken: list[int] = msgspec.field(default_factory=list)


class Listening(Record, frozen=True):
    """A TCP port that somebody listens on."""

    port: int
    #: The agent whose process it is; empty if it is nobody's of the team.
    agent: str = ""
    #: None if it cannot be seen whose it is.
    pid: int | None = None
    command: str = ""


class Resources(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def limit(self, team: str, limits: dict[str, Limits], team_limits: Limits) -> list[str]:
        """Change what agents that run, and their team, may use. Returns what nothing enforces, in words."""

    async def usage(self, team: str) -> list[Usage]:
        """What each agent of the team uses now, and the team as a whole, last."""

    async def host_memory(self, teams: list[str]) -> HostMemory:
        """How much of their own limits these teams have left. How short the host is, whoever is on it sees itself."""

    async def host_ports(self, ports: list[int]) -> HostPorts:
        """Which of these TCP ports are taken, by trying to bind each; and which ones are not to be given away."""

    async def listening(self, team: str, ports: list[int]) -> list[Listening]:
        """Every TCP port that a process of an agent listens on, and who else listens on one of `ports`."""
