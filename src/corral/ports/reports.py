"""What a keeper reports by itself."""

from __future__ import annotations

from corral.ports.record import Record
from corral.ports.runs import ExitStatus, Presence, Run, Told


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
    """An agent does something else, by its screen or, where that says nothing, by whether it writes."""

    team: str
    agent: str
    run: str
    activity: str
    at: float
    #: What it waits for, if it does.
    about: str = ""
    #: The rule of its profile that fits the screen; empty if it is known by its output alone.
    rule: str = ""
    #: The mark of the dialog that it waits with, if a key answers that one.
    dialog: str = ""


class RecordsSaid(Record, frozen=True, tag="records"):
    """An agent wrote down what it does: in its transcript, or in the protocol that it speaks on its output."""

    team: str
    agent: str
    run: str
    told: Told


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


class KeyboardChanged(Record, frozen=True, tag="keyboard"):
    """A message was not to be typed into this run, and something has changed there since: it is worth another try."""

    team: str
    agent: str
    run: str


class BranchesMoved(Record, frozen=True, tag="branches"):
    """A branch moved in the repository of a team, or in a copy of it."""

    team: str


Report = (
    RunExited
    | RunReady
    | ActivityChanged
    | RecordsSaid
    | ServerChanged
    | Degraded
    | ProcessEnded
    | ProcessCount
    | KeyboardChanged
    | BranchesMoved
)
