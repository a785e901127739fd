"""What an agent that comes after others waits for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corral.domain import lifecycle, states
from corral.domain.admission_rules import AdmissionRules
from corral.domain.records import Agent


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why an agent cannot start yet."""

    #: In words that follow its name: `waits for db to be ready`.
    reason: str
    #: It goes by itself, as far as anybody can tell. Otherwise somebody has to do something.
    passes: bool


def is_ready(agent: Agent) -> bool:
    """True if it runs and those that come after it may start."""
    return agent.state == states.RUNNING and agent.ready


def needs_a_sign(agent: Agent, rules: AdmissionRules) -> bool:
    """True if a run of it is not ready merely because it runs: something has to be seen first."""
    return bool(agent.ready_when or agent.prompt or rules.start_at_once)


def obstacle(agent: Agent, team: Mapping[str, Agent]) -> Obstacle | None:
    """What an agent waits for of its team; None if all that it comes after is ready. The worst of them is told."""
    found = [_of(agent.team, name, team.get(name)) for name in agent.after]
    there = [one for one in found if one is not None]
    return min(there, key=lambda one: one.passes, default=None)


def _of(team: str, name: str, other: Agent | None) -> Obstacle | None:
    if other is None:
        return Obstacle(f"waits for {name}, which is not up: corral up {name} starts it", passes=False)
    if is_ready(other):
        return None
    if other.state in states.AT_REST:
        cause = lifecycle.cause(other)
        why = f" ({cause})" if cause else ""
        remedy = f"corral restart {team}/{name} starts it"
        return Obstacle(f"waits for {name}, which is {other.state}{why}: {remedy}", passes=False)
    if other.state == states.PENDING and other.place is None:
        return Obstacle(f"waits for {name}, whose start was interrupted: corral up starts it", passes=False)
    if other.state == states.RUNNING and other.late:
        return Obstacle(f"waits for {name} to be ready: {other.late}", passes=False)
    return Obstacle(f"waits for {name} to be ready", passes=True)
