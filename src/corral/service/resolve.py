"""Which team, which agents does a person mean?

A team that is named is that team, whoever's it is. One that is not named is of the caller's own person, of whom an
instance of one person has no other:

1. The one whose directory, or the worktree of an agent, is around the caller.
2. Else, if a `corral.toml` is around the caller, that of the file. It is not up, and no other is taken in its place.
3. Else the only one there is; `down` does not guess so far.

Where a team is says whoever started it, so what somebody else has started changes nothing about what that means. An
agent that is named without its team is an own one: the only one of that name, or the one of the team around the caller.
Somebody else's is named with its team, or what was meant for an agent that is away would be typed into theirs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from corral.domain.errors import NotFoundError, WrongUseError
from corral.domain.records import Agent, Team


class Roster(Protocol):
    """The teams and agents that there are, or those of them that somebody may know of."""

    @property
    def teams(self) -> Mapping[str, Team]: ...

    @property
    def own(self) -> Mapping[str, Team]:
        """Those of them that are of the same person as whoever asks; of an instance of one person, all."""

    @property
    def agents(self) -> Mapping[tuple[str, str], Agent]: ...

    def named(self, name: str) -> list[Agent]:
        """The agents of that name, of whatever team."""

    def of_team(self, team: str) -> Mapping[str, Agent]:
        """The agents of a team by name, in the order of its file."""

    def agent(self, team: str, name: str) -> Agent:
        """The agent, or NotFoundError."""


def find_team(registry: Roster, *, name: str = "", cwd: str = "", nearest: str = "") -> Team:
    """The team of that name; else the one that is meant at `cwd`, where `nearest` is the `corral.toml` that is around
    it, if there is one.
    """
    if name:
        return _named(registry, name)
    here = _around(registry, cwd)
    if not here and nearest:
        raise NotFoundError(f"no team of {nearest} is up", f"corral up starts it{_or_name(registry)}")
    return _only(registry, here or list(registry.own.values()))


def find_team_to_end(registry: Roster, *, name: str = "", file: str = "", cwd: str = "") -> Team:
    """As `find_team`, also by the file of a team. Elsewhere than at its place none is meant, also not the only one."""
    if name:
        return _named(registry, name)
    if file:
        return _of_file(registry, file, cwd)
    return _only(registry, _around(registry, cwd))


def _named(registry: Roster, name: str) -> Team:
    team = registry.teams.get(name)
    if team is None:
        up = ", ".join(registry.teams) or "none"
        raise NotFoundError(f"no team {name} is up", f"teams that are up: {up}")
    return team


def _only(registry: Roster, meant: Sequence[Team]) -> Team:
    if len(meant) == 1:
        return meant[0]
    if not registry.teams:
        raise NotFoundError("no team is up", "corral up starts one")
    own = meant or list(registry.own.values())
    if own:
        choices = ", ".join(team.name for team in own)
        raise WrongUseError(f"which team? there are: {choices}", "name it with --team, or go to its directory")
    choices = ", ".join(registry.teams)
    raise WrongUseError(f"which team? none of yours is up; of others there are: {choices}", "name it with --team")


def _or_name(registry: Roster) -> str:
    return f"; another is named with --team: {', '.join(registry.teams)}" if registry.teams else ""


def _of_file(registry: Roster, file: str, cwd: str) -> Team:
    own = registry.own
    for team in own.values():
        if team.file == file:
            return team
    for agent in registry.agents.values():
        # A worktree has the file of its team too, under another path.
        if agent.team in own and _has_worktree(agent) and cwd and _is_within(cwd, agent.workspace):
            return own[agent.team]
    others = ", ".join(team.name for team in registry.teams.values() if team.file == file)
    if others:
        raise NotFoundError(f"no team of yours of {file} is up", f"somebody else's is named with --team: {others}")
    raise NotFoundError(f"no team of {file} is up", "corral ps shows what is up")


def find_agent(registry: Roster, *, team: str, agent: str, cwd: str) -> Agent:
    """The agent of that name in the named team, the only own one of that name, or the one in the team around `cwd`."""
    if team:
        return registry.agent(find_team(registry, name=team).name, agent)
    known, own = registry.named(agent), registry.own
    found = [record for record in known if record.team in own]
    if len(found) == 1:
        return found[0]
    if known and not found:
        choices = ", ".join(f"{record.team}/{record.name}" for record in known)
        raise WrongUseError(f"which {agent}? none of yours; of others there are: {choices}", "give it as TEAM/AGENT")
    if not found:
        if len(registry.teams) == 1:
            return registry.agent(next(iter(registry.teams)), agent)
        raise NotFoundError(f"there is no agent {agent}", "corral ps shows the agents there are")
    here = {record.name for record in _around(registry, cwd)}
    near = [record for record in found if record.team in here]
    if len(near) == 1:
        return near[0]
    choices = ", ".join(f"{record.team}/{record.name}" for record in found)
    raise WrongUseError(f"{agent} is in several teams: {choices}", "give it as TEAM/AGENT")


def find_asking(registry: Roster, *, team: str, agent: str, cwd: str, nearest: str = "") -> tuple[Team, Agent | None]:
    """The team that somebody asks about, and the agent in whose name, if it is one."""
    if not agent:
        return find_team(registry, name=team, cwd=cwd, nearest=nearest), None
    found = find_agent(registry, team=team, agent=agent, cwd=cwd)
    return registry.teams[found.team], found


def find_agents(
    registry: Roster, *, team: str, agents: Sequence[str], everyone: bool, cwd: str, nearest: str = ""
) -> tuple[Team, list[str]]:
    """A team and the names of some of its agents, in the order of the file."""
    if everyone:
        chosen = find_team(registry, name=team, cwd=cwd, nearest=nearest)
        return chosen, list(registry.of_team(chosen.name))
    if not agents:
        raise WrongUseError("which agents?", "name them, or take all of them with --all")
    records = [find_agent(registry, team=team, agent=name, cwd=cwd) for name in dict.fromkeys(agents)]
    teams = {record.team for record in records}
    if len(teams) > 1:
        raise WrongUseError(f"these agents are in several teams: {', '.join(sorted(teams))}", "one team at a time")
    (only,) = teams
    wanted = {record.name for record in records}
    return registry.teams[only], [name for name in registry.of_team(only) if name in wanted]


def _around(registry: Roster, cwd: str) -> list[Team]:
    """Own teams whose directory, or the worktree of an agent of theirs, is `cwd` or above it; only the nearest."""
    if not cwd:
        return []
    own = registry.own
    places = [(team.directory, team.name) for team in own.values()]
    places += [(one.workspace, one.team) for one in registry.agents.values() if one.team in own and _has_worktree(one)]
    inside = [(len(directory), team) for directory, team in places if _is_within(cwd, directory)]
    nearest = max(inside, default=(0, ""))[0]
    names = dict.fromkeys(team for length, team in inside if length == nearest)
    return [own[name] for name in names]


def _has_worktree(agent: Agent) -> bool:
    return agent.workspace_kind == "worktree" and bool(agent.workspace)


def _is_within(path: str, directory: str) -> bool:
    return f"{os.path.abspath(path)}/".startswith(directory.rstrip("/") + "/")
