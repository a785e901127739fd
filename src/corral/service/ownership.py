"""Whose teams and agents are: the one place that says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.domain.records import Agent, Team, Who
from corral.supervise.registry import Registry

if TYPE_CHECKING:
    from corral.service.members import Members

#: By an OS user, the person in whose share counts what it has (`domain/shares.py`); empty where all is one person's.
PersonOf = Callable[[str], str]


def one_person(_: str) -> str:
    """The person in an instance that has no members."""
    return ""


def among(members: Members | None) -> PersonOf:
    """The person of each user: on a shared server itself or whom it belongs to, member or not."""
    if members is None:
        return one_person
    return lambda user: members.person_of(user) or user


def owner_of_team(members: Members, team: Team) -> str:
    """The person who has the team up, member or not; empty if that is not known."""
    return members.person_of(team.user) or team.user


def owner_of_agent(registry: Registry, members: Members, agent: Agent) -> str:
    """The person whose agent it is: who it runs as, or whom the user that it runs as belongs to; else the team's."""
    team = registry.teams.get(agent.team)
    return members.person_of(agent.user) or ("" if team is None else owner_of_team(members, team))


def owns(registry: Registry, members: Members | None, who: Who, agent: Agent) -> bool:
    """True if it is the agent of whoever asks. Without members all are of one person, who may run others' agents."""
    if members is None:
        return who.user == agent.user
    return (members.person_of(who.user) or who.user) == owner_of_agent(registry, members, agent)
