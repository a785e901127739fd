"""Answers that are put together by hand, as types: what the OpenAPI document says of them.

A test takes what the daemon really answers for one of these, and nothing may be left over or missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from corral.domain.records import Who
from corral.ports.usage import Pressure
from corral.service.agents import AgentDone, AgentRemoved
from corral.service.holding import AgentHeld


class Told(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of them: these keys, and no others."""


class AuditHead(Told, frozen=True):
    """The last entry of the audit trail."""

    number: int
    hash: str


class Health(Told, frozen=True):
    """How the daemon is."""

    version: str
    pid: int
    instance: str
    home: str
    runtime: str
    started_at: str
    teams: int
    agents: int
    keeper: Annotated[str, Meta(description="`present` if the daemon has a connection to it, else `absent`")]
    listening: Annotated[
        list[str] | UnsetType, Meta(description="where it is reached over TCP; missing if it is not")
    ] = UNSET
    keepers: Annotated[
        dict[str, str] | UnsetType, Meta(description="on a shared server: the same by OS user, of all that teams need")
    ] = UNSET
    audit: Annotated[
        AuditHead | UnsetType, Meta(description="if there is an audit trail: the last entry that was written to it")
    ] = UNSET


class Stopped(Told, frozen=True):
    """The daemon ends after this answer."""

    stopped: bool
    pid: int


class Enforced(Told, frozen=True):
    """What sees to each part of what an agent may touch; null for what is not declared, or before its first start."""

    write: Annotated[
        str | None,
        Meta(description="kernel, commit or merge; kernel+commit: the kernel to directories, commits to the patterns"),
    ]
    read: Annotated[str | None, Meta(description="kernel")]
    bind: Annotated[str | None, Meta(description="kernel")]
    network: Annotated[str | None, Meta(description="kernel")]
    why: Annotated[str, Meta(description="why it is no better; empty if it could not be")]


class Access(Told, frozen=True):
    """What an agent may touch, as its table declares it."""

    write: Annotated[list[str] | None, Meta(description="null if it is not declared")]
    read: Annotated[list[str] | None, Meta(description="null if it is not declared")]
    bind: Annotated[str | list[int], Meta(description="any, own, none, or ports")]
    network: Annotated[str, Meta(description="any or none")]
    enforce: Annotated[str, Meta(description="auto, kernel or commit")]
    enforced: Enforced


class Agent(Told, frozen=True):
    """An agent that is up."""

    team: str
    agent: str
    state: str
    activity: str
    activity_about: Annotated[str, Meta(description="what it waits for, if it does")]
    activity_evidence: Annotated[str, Meta(description="how that is known; empty if nothing is")]
    activity_since: str | None
    paused: bool
    pid: int | None
    user: str
    owner: Annotated[str, Meta(description="on a shared server, the user whose team it is; else empty")]
    host: str
    workspace: str
    containment: str
    containment_why: str
    access: Annotated[Access | None, Meta(description="null for one that has no such table")]
    restarts: int
    since: str
    command: list[str]
    processes: Annotated[int, Meta(description="how many commands run that were started for it")]
    exit_code: int | None
    reason: str
    prompt: str
    terminal: str
    kind: Annotated[str, Meta(description="agent, or service: nobody speaks to it")]
    ready: Annotated[bool, Meta(description="it runs, and those that come after it may start")]
    after: Annotated[list[str], Meta(description="the agents that it is started after")]
    session: Annotated[str, Meta(description="the id of its conversation, if it is known")]
    resumed: Annotated[bool, Meta(description="its run went on with a conversation that there was")]
    fork_of: Annotated[str, Meta(description="the agent that it was forked from; empty for one of the file")]
    last_words: Annotated[str, Meta(description="what it said last, if it ended by itself and is not started anew yet")]
    hidden: Annotated[
        bool,
        Meta(
            description="who asks may not read it: `command`, `activity_evidence`, `last_words` and `notices` are left"
            " out, and `reason`, but for that of `unknown`"
        ),
    ]
    crashes: Annotated[int, Meta(description="how often in a row it ended without a run that lasted")]
    health: Annotated[str, Meta(description="what its check says: unknown, starting, healthy or unhealthy; or empty")]
    stuck_since: Annotated[str | None, Meta(description="since when a person is asked to look at it")]
    notices: Annotated[list[str], Meta(description="what a person should know of it now, in sentences")]


class Stat(Told, frozen=True):
    """What an agent uses, or with an empty `agent` its team as a whole. A number that nobody can tell is null."""

    team: str
    agent: str
    state: str
    paused: bool
    time: str
    cpu_percent: float | None
    cpu_seconds: float | None
    memory_current: int | None
    memory_peak: int | None
    memory_limit: int | None
    tasks: int | None
    tasks_limit: int | None
    pressure: Pressure | None
    oom_kills: int | None
    containment: str
    cgroup: str
    unknown: Annotated[str, Meta(description="why nothing is known of it; empty if something is")]


class Stats(Told, frozen=True):
    """What is used at one moment."""

    stats: list[Stat]


class AttachCommand(Told, frozen=True):
    """The command that joins an agent's terminal."""

    team: str
    agent: str
    argv: list[str]
    user: str
    terminal: str


class Screen(Told, frozen=True):
    """The lines of a terminal."""

    team: str
    agent: str
    lines: list[str]
    title: Annotated[str, Meta(description="what its program calls it; empty if it has no terminal")]


class Event(Told, frozen=True):
    """An entry of the journal."""

    seq: int
    time: str
    team: str
    agent: str
    event: str
    who: Who
    outcome: str
    data: dict[str, Any]
    hidden: Annotated[
        bool | UnsetType, Meta(description="true if there are data that who asks may not read; else not there")
    ] = UNSET


class Noted(Told, frozen=True):
    """How many events were taken down."""

    noted: int


class Error(Told, frozen=True, forbid_unknown_fields=False):
    """What went wrong. More keys may follow."""

    code: str
    message: str
    remedy: str


class Failure(Told, frozen=True):
    """The answer of every request that failed."""

    error: Error


class AgentsDone(Told, frozen=True):
    """What became of some agents."""

    team: str
    agents: Sequence[AgentDone]


class AgentsRemoved(Told, frozen=True):
    """What became of agents that were to be removed."""

    team: str
    agents: Sequence[AgentRemoved]


class AgentsHeld(Told, frozen=True):
    """What became of agents that were to be paused or resumed."""

    team: str
    agents: Sequence[AgentHeld]
