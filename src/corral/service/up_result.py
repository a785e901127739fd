"""What `corral up` did, agent by agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain import states
from corral.domain.records import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """What `up` did with one agent."""

    agent: str
    action: str
    differs: Sequence[str] = ()
    state: str = states.PENDING
    detail: str = ""
    #: What helps, where it failed before it was started; of one that ran, its last words tell more.
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpResult:
    """What `up` did."""

    team: str
    dry_run: bool
    changed: bool
    agents: Sequence[AgentOutcome]
    notes: Sequence[str] = ()


def waits(agent: Agent | None) -> bool:
    """It is in line to be started."""
    return agent is not None and agent.state == states.PENDING and agent.place is not None
