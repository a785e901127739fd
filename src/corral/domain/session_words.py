"""What people are told of others who share a terminal. Pure."""

from __future__ import annotations

from corral.domain.notices import SESSION, Notice
from corral.domain.records import Agent
from corral.domain.session_modes import DRIVE, MODERATE, OBSERVE

_DOES = {OBSERVE: "watches", DRIVE: "drives", MODERATE: "moderates"}


def joined(agent: Agent, name: str, mode: str, now: float) -> Notice:
    """For the one whose agent it is: somebody else is at its terminal."""
    return Notice(
        kind=SESSION,
        team=agent.team,
        agent=agent.name,
        headline=f"{name} is at the terminal of {agent.team}/{agent.name}",
        what=f"{name} {_DOES[mode]}; corral session ls shows who is there",
        since=now,
        more={"who": name, "mode": mode, "joined": True},
    )


def is_there(name: str, mode: str) -> str:
    """For `ps`, as long as somebody else is there."""
    return f"{name} {_DOES[mode]} its terminal; corral session ls shows who is there"


def left(agent: Agent, name: str, mode: str, why: str, now: float) -> Notice:
    """… and is gone again."""
    return Notice(
        kind=SESSION,
        team=agent.team,
        agent=agent.name,
        headline=f"{name} left the terminal of {agent.team}/{agent.name}",
        what=why,
        since=now,
        more={"who": name, "mode": mode, "joined": False},
    )
