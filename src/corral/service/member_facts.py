"""What a policy is told of people and of what is theirs: from memory, without waiting for anything."""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import replace

from corral.domain.errors import WrongUseError
from corral.domain.members import ROOT, ROOT_ROLE
from corral.domain.policy import AGENT, TEAM, Caller, Target
from corral.service.members import Members
from corral.service.ownership import owner_of_agent, owner_of_team
from corral.service.policy_check import Asked
from corral.service.sight import Sight, Whose
from corral.supervise.registry import Registry

#: Whose what is of no team is.
_HOST: Whose = ("", "")


class MemberFacts:
    """See `ports.policy.Facts`."""

    def __init__(self, registry: Registry, members: Members) -> None:
        self._registry = registry
        self._members = members

    def caller(self, user: str) -> Caller | None:
        """See `Facts.caller`. In whose teams somebody is: those that are theirs, and those that they were put into."""
        if user == ROOT:
            return Caller(user=ROOT, uid=0, member=True, role=ROOT_ROLE, teams=tuple(self._own_teams(ROOT)))
        member = self._members.get(user)
        if member is None:
            return None
        teams = {*member.teams, *self._own_teams(user)}
        return Caller(user=user, uid=member.uid, member=True, role=member.role, teams=tuple(sorted(teams)))

    def target(self, team: str, agent: str) -> Target | None:
        """See `Facts.target`."""
        if agent:
            found = self._registry.agents.get((team, agent))
            owner = None if found is None else owner_of_agent(self._registry, self._members, found)
        else:
            record = self._registry.teams.get(team)
            owner = None if record is None else owner_of_team(self._members, record)
        if owner is None:
            return None
        return Target(
            kind=AGENT if agent else TEAM, team=team, agent=agent, owner=owner, owner_role=self._role_of(owner)
        )

    def stamp(self) -> Hashable:
        """See `Facts.stamp`."""
        return self._registry.version, self._members.version

    async def as_told(self, sight: Sight, user: str) -> ToldFacts:
        """The facts as far as this user may be told of them."""
        teams = await sight.rows(list(self._registry.teams), lambda team: (team, ""))
        agents = await sight.rows(list(self._registry.agents), lambda key: key)
        knows_people = _HOST in await sight.opened("member_ls", [_HOST])
        return ToldFacts(self, {*agents, *((team, "") for team in teams)}, None if knows_people else user)

    def meant(self, asked: Asked, told: Container[tuple[str, str]]) -> Asked:
        """The question with USER/AGENT in it as TEAM/AGENT, where a person has exactly one agent of that name among
        those that may be told of.
        """
        user, _, name = asked.on.partition("/")
        if not name or (user, "") in told or self._members.get(user) is None:
            return asked
        found = [
            agent.team
            for agent in self._registry.agents.values()
            if agent.name == name and agent.key in told and owner_of_agent(self._registry, self._members, agent) == user
        ]
        if len(found) > 1:
            choices = ", ".join(f"{team}/{name}" for team in sorted(found))
            raise WrongUseError(f"{user} has several agents called {name}: {choices}", "name one as TEAM/AGENT")
        return replace(asked, on=f"{found[0]}/{name}") if found else asked

    def _own_teams(self, user: str) -> list[str]:
        return [team.name for team in self._registry.teams.values() if owner_of_team(self._members, team) == user]

    def _role_of(self, user: str) -> str:
        if user == ROOT:
            return ROOT_ROLE
        member = self._members.get(user)
        return member.role if member is not None else ""


class ToldFacts:
    """See `ports.policy.Facts`. What may not be told of is not there, and nobody is in a team that is not there."""

    def __init__(self, facts: MemberFacts, told: Container[Whose], only: str | None) -> None:
        """`only` is the one person of whom anything may be told; None if it is everybody."""
        self._facts = facts
        self._told = told
        self._only = only

    def caller(self, user: str) -> Caller | None:
        """See `Facts.caller`."""
        if self._only not in (None, user):
            return None
        found = self._facts.caller(user)
        return found and replace(found, teams=tuple(team for team in found.teams if not self._is_hidden(team, "")))

    def target(self, team: str, agent: str) -> Target | None:
        """See `Facts.target`."""
        return None if self._is_hidden(team, agent) else self._facts.target(team, agent)

    def stamp(self) -> Hashable:
        """See `Facts.stamp`."""
        return self._facts.stamp()

    def meant(self, asked: Asked) -> Asked:
        """See `MemberFacts.meant`."""
        return self._facts.meant(asked, self._told)

    def _is_hidden(self, team: str, agent: str) -> bool:
        """Teams that are at rest are not: of those nothing is known but that somebody was put into them."""
        return (team, agent) not in self._told and self._facts.target(team, agent) is not None
