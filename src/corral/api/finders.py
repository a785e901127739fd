"""How what a request is about is found, for requests that name teams and agents. See `about`."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from corral.api import requests
from corral.api.about import About, Case
from corral.api.daemon_bodies import FixesBody
from corral.api.session_answers import SteerBody
from corral.api.team_bodies import ChosenBody, DownBody, ForkBody
from corral.domain import names
from corral.domain.errors import DeniedError, NotFoundError
from corral.domain.policy import DRIVE, OBSERVE, TEAM, Target
from corral.service.journal import never_had
from corral.service.resolve import find_agent, find_agents, find_asking, find_team, find_team_to_end

#: The rule of the denial of an agent that would speak for somebody else.
NOT_ITSELF = "not_itself"
_HOST = Target()
#: What a handler is to read where a team is named that is not there for the caller. No team can have this name.
_NO_TEAM = "/"


def host(_: Case) -> About:
    """It is about the daemon, or the host as a whole."""
    return About(on=(_HOST,))


def own(case: Case) -> About:
    """It is about the caller: the agent that it is, or the person."""
    return About(on=(case.asking.itself,))


def checked(case: Case) -> About:
    """A question to the policy. What one may do oneself anybody may ask; what others may do is the host's."""
    who = case.asking.who
    return own(case) if case.text("who") in ("", who.agent or who.user) else host(case)


# One agent


def one_agent(case: Case) -> About:
    """The query names an agent."""
    found = find_agent(case.seen, team=case.text("team"), agent=case.text("agent"), cwd=case.text("cwd"))
    return of_agent(case, found.team, found.name)


def of_agent(case: Case, team: str, agent: str) -> About:
    """It is about this agent, and the query is to say so."""
    return About(on=(case.target(team, agent),), pins={"team": (team,), "agent": (agent,)})


def attaching(case: Case) -> About:
    """As `one_agent`. Who is only to look on cannot type."""
    return replace(one_agent(case), facts={"mode": OBSERVE if requests.flag(case.request, "read_only") else DRIVE})


def joining(case: Case) -> About:
    """As `one_agent`, in the mode that is named. One that there is not is allowed to nobody."""
    return replace(one_agent(case), facts={"mode": case.text("mode")})


def steering(case: Case) -> About:
    """The body names an agent."""
    order = case.order(SteerBody)
    found = find_agent(case.seen, team=order.team or "", agent=order.agent, cwd=order.cwd)
    read = msgspec.structs.replace(order, team=found.team, agent=found.name, cwd="")
    return About(on=(case.target(*found.key),), order=read)


def forking(case: Case) -> About:
    """The body names an agent; another will be beside it in its team."""
    order = case.order(ForkBody)
    found = find_agent(case.seen, team=order.team or "", agent=order.agent, cwd=order.cwd)
    read = msgspec.structs.replace(order, team=found.team, agent=found.name, cwd="")
    return About(on=(case.target(*found.key), case.target(found.team)), order=read)


# Several


def chosen(case: Case) -> About:
    """The body names some agents of a team, or all of them: also those that the caller may not know of."""
    order = case.order(ChosenBody)
    if order.all:
        team = find_team(case.seen, name=order.team or "", cwd=order.cwd, nearest=order.nearest).name
        read = msgspec.structs.replace(order, team=team, cwd="", nearest="")
        agents = tuple(case.target(team, name) for name in case.everything.of_team(team))
        return About(on=agents or (case.target(team),), order=read)
    found, names = find_agents(case.seen, team=order.team or "", agents=order.agents, everyone=False, cwd=order.cwd)
    read = msgspec.structs.replace(order, team=found.name, cwd="", nearest="", agents=names)
    return About(on=tuple(case.target(found.name, name) for name in names), order=read)


def everybody(case: Case) -> About:
    """The query names a team, and every agent of it is meant."""
    team = find_team(case.seen, name=case.text("team"), **case.whereabouts).name
    agents = tuple(case.target(team, name) for name in case.everything.of_team(team))
    return About(on=agents or (case.target(team),), pins={"team": (team,)})


def read_of_some(case: Case) -> About:
    """The query names some agents; without a name, it means those of the team that the caller may read."""
    wanted, team = case.texts("agent"), case.text("team")
    found, names = find_agents(case.seen, team=team, agents=wanted, everyone=not wanted, **case.whereabouts)
    if not names:
        # The handler would take it to be about all of them.
        raise NotFoundError(f"{found.name} has no agents", "corral ps shows what is up")
    if not wanted:
        names = [name for name in names if case.allows(case.target(found.name, name))] or names
    on = tuple(case.target(found.name, name) for name in names)
    return About(on=on, pins={"team": (found.name,), "agent": tuple(names)})


def looked_at(case: Case) -> About:
    """The query names some agents, or a team, or nobody: then it is a list."""
    wanted, team, cwd = case.texts("agent"), case.text("team"), case.text("cwd")
    if wanted:
        found, names = find_agents(case.seen, team=team, agents=wanted, everyone=False, cwd=cwd)
        on = tuple(case.target(found.name, name) for name in names)
        return About(on=on, pins={"team": (found.name,), "agent": tuple(names)})
    return listed(case)


def listed(case: Case) -> About:
    """A list, of an agent, of a team or of all: who may list what is their own may, and its rows are asked about."""
    agent, team = case.text("agent"), case.text("team")
    if agent:
        return one_agent(case)
    if team:
        return About(on=(case.asking.itself,), pins={"team": (find_team(case.seen, name=team).name,), "agent": ()})
    return own(case)


def of_the_journal(case: Case) -> About:
    """A list of what happened, also to teams and agents that are gone."""
    agent, team = case.text("agent"), case.text("team")
    if team and not case.asking.sees(team, agent):
        raise never_had(team, agent)
    if agent and not team and not case.seen.named(agent):
        raise NotFoundError(f"there is no agent {agent}", "name the team as well, if it is gone")
    return own(case)


# Teams


def team(case: Case) -> About:
    """The query names a team, or means the one of where the caller is, or their only one."""
    found = find_team(case.seen, name=case.text("team"), **case.whereabouts).name
    return About(on=(case.target(found),), pins={"team": (found,)})


def asking(case: Case) -> About:
    """It is asked of a team in the name of an agent, or of a person. An agent that names nobody means itself."""
    team, agent = (case.text(name) for name in ("team", "agent"))
    if not agent and case.asking.who.agent:
        own_team, _, itself = case.asking.who.agent.partition("/")
        if team not in ("", own_team):
            raise NotFoundError(f"no team {team} is up", "an agent speaks for itself, in its own team")
        return of_agent(case, own_team, itself)
    found, speaker = find_asking(case.seen, team=team, agent=agent, **case.whereabouts)
    if speaker is not None:
        return of_agent(case, *speaker.key)
    return About(on=(case.target(found.name),), pins={"team": (found.name,), "agent": ()})


def writing(case: Case) -> About:
    """As `asking`. Of a team that is not up nothing is enforced, and whoever asks is told so: also of one that they may
    not see, which their request does not name any more.
    """
    try:
        return asking(case)
    except NotFoundError:
        named = case.text("team")
        if not named or named in case.seen.teams:
            raise
        # The handler looks among all teams. Without a name it would take the only one.
        return About(on=(case.asking.itself,), pins={"team": (_NO_TEAM,), "agent": (), "cwd": ()})


def hearing(case: Case) -> About:
    """A hook says which agent it runs in. What is no agent's is the person's, and an agent's is its own.

    An agent that names another is told that it is not that one, whether there is such an agent or not. For a person,
    an agent that they may not see is none.
    """
    key, itself = (case.text("team"), case.text("agent")), case.asking.who.agent
    if itself:
        if not key[1]:
            return asking(case)
        if "/".join(key) != itself or key not in case.everything.agents:
            raise DeniedError(f"{itself} is not {'/'.join(key)}", "", rule=NOT_ITSELF)
        return of_agent(case, *key)
    if key in case.seen.agents:
        return of_agent(case, *key)
    return About(on=(case.asking.itself,), pins={"team": (), "agent": ()})


def down(case: Case) -> About:
    """The body names a team, or the file of one. Of one that is at rest, what it left of the caller's is meant: nobody
    else's is looked at.
    """
    order = case.order(DownBody)
    name, file = order.team or "", order.file or ""
    try:
        name = find_team_to_end(case.seen, name="" if file else name, file=file, cwd=order.cwd).name
    except NotFoundError:
        # What can be no team's name has left nothing. That is said here, where only what the caller sees is named.
        if not names.is_valid(name) or name in case.everything.teams:
            raise
    on = case.target(name) if name in case.everything.teams else _of_caller(case, name)
    return About(on=(on,), order=msgspec.structs.replace(order, team=name, file=None, cwd=""))


def up(case: Case) -> About:
    """The body has the text of a corral.toml. A team that is not there belongs to whoever has it started."""
    name = case.declares
    if not name:
        return own(case)  # the handler says what is wrong
    if name in case.everything.teams:
        # Of a team that the caller may not see, no more is told than that there is one of that name.
        return About(on=(case.target(name) if case.asking.sees(name) else Target(kind=TEAM, team=name),))
    return About(on=(_of_caller(case, name),))


def _of_caller(case: Case, name: str) -> Target:
    """A team that is not up, as that of whoever asks. Agents have none."""
    person = case.asking.authority.person(case.asking.who.user)
    owner = Target() if case.asking.who.agent else person
    return Target(kind=TEAM, team=name, owner=owner.owner, owner_role=owner.owner_role)


def fixes(case: Case) -> About:
    """The body tells of teams and agents that something was healed of; to tell it is the host's."""
    if not case.allows(_HOST):
        return host(case)
    named = {(fix.team, fix.agent): None for fix in case.order(FixesBody).fixes if fix.team}
    return About(on=(_HOST, *(case.target(*key) for key in named)))
