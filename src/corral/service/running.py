"""What can be asked only of an agent that runs."""

from __future__ import annotations

from corral.domain import states
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.records import Agent


def must_run(agent: Agent, *, ended: str, paused: str, then: str) -> None:
    """Refuse one that does not run or stands still: `ended` and `paused` say why, `then` what to do when it goes on."""
    if agent.state == states.UNKNOWN:
        raise UnavailableError(
            f"nobody can tell whether {agent.name} is alive: {agent.reason}",
            "try again once corral ps knows its state",
        )
    if agent.state != states.RUNNING:
        raise CorralError(f"{agent.name} is {agent.state}; {ended}", f"corral restart {agent.name} starts it again")
    if agent.paused:
        raise RefusedError(f"{agent.name} is paused; {paused}", f"corral resume {agent.name}, then {then}")
