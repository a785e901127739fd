"""Whose teams and agents are: the one place that says so."""

from __future__ import annotations

from corral.domain.records import Agent, Team
from corral.service.members import Members
from corral.supervise.registry import Registry


def owner_of_team(registry: Registry, members: Members, team: Team) -> str:
    """The person who has the team up; empty if that is not known."""
    for agent in registry.agents.values():
        if agent.team == team.name and (owner := members.person_of(agent.user)):
            return owner
    return ""


def owner_of_agent(registry: Registry, members: Members, agent: Agent) -> str:
    """The person whose agent it is: who it runs as, or whom the user that it runs as belongs to; else the team's."""
    team = registry.teams.get(agent.team)
    return members.person_of(agent.user) or ("" if team is None else owner_of_team(registry, members, team))
