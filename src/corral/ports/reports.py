"""What a keeper reports by itself."""

from __future__ import annotations

from corral.ports.keeper import ExitStatus, Presence, Record, Run


class RunExited(Record, frozen=True, tag="exited"):
    """The process of a run ended."""

    team: str
    run: Run


class RunReady(Record, frozen=True, tag="ready"):
    """The agent can take a message; `evidence` says how that is known."""

    team: str
    agent: str
    run: str
    evidence: str


class ActivityChanged(Record, frozen=True, tag="activity"):
    """An agent began to write to its terminal, or has been quiet for a while."""

    team: str
    agent: str
    run: str
    activity: str
    at: float


class ServerChanged(Record, frozen=True, tag="server"):
    """The team's tmux server went away, stopped answering, or answers again."""

    team: str
    presence: Presence
    why: str = ""


class Degraded(Record, frozen=True, tag="degraded"):
    """The keeper goes on, but with less than was asked for (a log that cannot be written, …)."""

    team: str
    agent: str
    why: str


class ProcessEnded(Record, frozen=True, tag="process"):
    """A command that an agent started has ended."""

    team: str
    agent: str
    process: str
    exit: ExitStatus


class ProcessCount(Record, frozen=True, tag="processes"):
    """How many commands of an agent run now."""

    team: str
    agent: str
    running: int


Report = RunExited | RunReady | ActivityChanged | ServerChanged | Degraded | ProcessEnded | ProcessCount
