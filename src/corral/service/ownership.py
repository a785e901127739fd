"""Whose teams and agents are: the one place that says so."""

from __future__ import annotations

from corral.domain.records import Agent, Team
from corral.service.members import Members
from corral.supervise.registry import Registry


def owner_of_team(members: Members, team: Team) -> str:
    """The person who has the team up, member or not; empty if that is not known."""
    return members.person_of(team.user) or team.user


def owner_of_agent(registry: Registry, members: Members, agent: Agent) -> str:
    """The person whose agent it is: who it runs as, or whom the user that it runs as belongs to; else the team's."""
    team = registry.teams.get(agent.team)
    return members.person_of(agent.user) or ("" if team is None else owner_of_team(members, team))
