"""What the doctor may do with `--fix`, as orders that somebody else carries out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

#: Pid and start time: one process for as long as the host is up.
ProcessKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BringBack:
    """Make tmux servers of ours reachable again, all those that were bound to one path."""

    path: str
    #: The hidden servers, in the order in which they are to make their sockets anew.
    hidden: tuple[ProcessKey, ...]
    #: The server that is to have the path in the end; each other one is reachable under a name beside it.
    owner: int


@dataclass(frozen=True, slots=True)
class StopScope:
    """Stop a scope that is active and has no process."""

    name: str
    control_group: str


@dataclass(frozen=True, slots=True)
class EndProcesses:
    """End processes that are proved to be ours, with everything they started."""

    processes: tuple[ProcessKey, ...]


@dataclass(frozen=True, slots=True)
class RemoveSocket:
    """Remove a socket of a daemon or a keeper that is gone, while its locks are held."""

    path: str
    locks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoveWorktree:
    """Remove a worktree, if git says that no work is in it."""

    team: str
    agent: str
    path: str


@dataclass(frozen=True, slots=True)
class MakePrivate:
    """Close a directory of ours to others."""

    path: str


@dataclass(frozen=True, slots=True)
class StartDaemon:
    """Start the daemon, which finds the agents that are up."""


Cure = BringBack | StopScope | EndProcesses | RemoveSocket | RemoveWorktree | MakePrivate | StartDaemon


@dataclass(frozen=True, slots=True)
class Healed:
    """What came of a cure, in one sentence."""

    fixed: bool
    said: str
