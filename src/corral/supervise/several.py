"""One keeper in the place of several: for a team whose agents are run by more than one OS user.

Verbs about one agent go to the keeper of its user, verbs about the team to all, and what a keeper answers counts as far
as it is about agents of its own user.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from corral.domain.errors import CorralError
from corral.domain.limits import Limits
from corral.domain.records import Agent
from corral.ports.casts import RecordingOrder
from corral.ports.census import Bystander, Check
from corral.ports.checking import LastKey
from corral.ports.dialogs import Announced
from corral.ports.keeper import Keeper
from corral.ports.memory import HostMemory
from corral.ports.processes import Process
from corral.ports.resources import Listening
from corral.ports.runs import Ended, Inventory, Launch, Started, TeamOrder
from corral.ports.sessions import SharedSession
from corral.ports.usage import Usage
from corral.ports.workspace import WorkspaceRemoval
from corral.supervise.routes import BY_AGENT, BY_ORDER, BY_PATH, BY_RUN, NOT_OF_A_TEAM, TO_THE_OWNER
from corral.supervise.usage_sum import of_parts

#: The agents of the team as they are now, by name.
Members = Callable[[], Mapping[str, Agent]]

_ARGUMENT = {**BY_AGENT, **BY_RUN, **BY_PATH, **BY_ORDER}
_SIGNATURES = {verb: inspect.signature(getattr(Keeper, verb)) for verb in _ARGUMENT}


class SeveralKeepers:
    """See `ports.keeper.Keeper`. `keepers` are by user, of all users of the team or of some; `owner` is its own."""

    def __init__(self, owner: str, keepers: Mapping[str, Keeper], members: Members) -> None:
        self._owner = owner
        self._keepers = dict(keepers)
        self._members = members

    def as_keeper(self) -> Keeper:
        """This, as whoever asks a keeper sees it."""
        return cast("Keeper", self)

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        if verb in TO_THE_OWNER:
            return cast("Callable[..., Awaitable[Any]]", getattr(self._keepers[self._of(None)], verb))
        if verb not in _ARGUMENT:
            raise AttributeError(f"{verb} is asked of one keeper" if verb in NOT_OF_A_TEAM else verb)

        def ask(*arguments: Any, **named: Any) -> Awaitable[Any]:
            given = _SIGNATURES[verb].bind(self, *arguments, **named).arguments
            keeper = self._keepers[self._user(verb, given[_ARGUMENT[verb]])]
            return cast("Awaitable[Any]", getattr(keeper, verb)(*arguments, **named))

        return ask

    # Whose it is

    def _user(self, verb: str, about: Any) -> str:
        agents = self._members()
        if verb in BY_RUN:
            return self._of(next((agent for agent in agents.values() if agent.run == about), None))
        if verb in BY_PATH:
            return self._of(next((agent for agent in agents.values() if agent.workspace == about), None))
        if verb in BY_ORDER:
            name = getattr(about, "agent", "")
            if not name:
                return self._user("screen", about.run)
            return self._of(agents.get(name))
        return self._of(agents.get(about))

    def _of(self, agent: Agent | None) -> str:
        user = (agent.run_as if agent is not None else "") or self._owner
        if user not in self._keepers:
            raise CorralError(f"no keeper of {user} is connected for this team", "try again: it is looked for")
        return user

    def _names(self, user: str) -> set[str]:
        return {name for name, agent in self._members().items() if (agent.run_as or self._owner) == user}

    def _runs(self, user: str) -> set[str]:
        return {agent.run for agent in self._members().values() if (agent.run_as or self._owner) == user and agent.run}

    async def _all(self, ask: Callable[[Keeper, str], Awaitable[Any]]) -> dict[str, Any]:
        """What each answers. All are waited for, so that nothing goes on behind whoever is told of a failure."""
        asked = [ask(keeper, user) for user, keeper in self._keepers.items()]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return dict(zip(self._keepers, answers, strict=True))

    # Team-wide verbs

    async def prepare(self, team: str, order: TeamOrder) -> None:
        await self._all(lambda keeper, _: keeper.prepare(team, order))

    async def start(self, team: str, launches: list[Launch], order: TeamOrder) -> Started:
        mine = {user: [launch for launch in launches if launch.agent in self._names(user)] for user in self._keepers}
        answers = await self._all(
            lambda keeper, user: keeper.start(team, mine[user], order) if mine[user] else _answer(Started())
        )
        own = {user: {launch.run for launch in mine[user]} for user in mine}
        runs = [run for user, started in answers.items() for run in started.runs if run.run in own[user]]
        return Started(runs=runs, notes=list(dict.fromkeys(n for one in answers.values() for n in one.notes)))

    async def stop(self, team: str, runs: dict[str, str], grace: float, *, spare: bool) -> Ended:
        mine = {u: {run: name for run, name in runs.items() if name in self._names(u)} for u in self._keepers}
        answers = await self._all(
            lambda keeper, user: keeper.stop(team, mine[user], grace, spare=spare) if mine[user] else _answer(Ended())
        )
        return _ended({user: (set(mine[user]), ended) for user, ended in answers.items()})

    async def take_down(self, team: str, grace: float) -> Ended:
        answers = await self._all(lambda keeper, _: keeper.take_down(team, grace))
        return _ended({user: (self._runs(user), ended) for user, ended in answers.items()})

    async def freeze(self, team: str, runs: list[str], *, frozen: bool) -> None:
        mine = {user: [run for run in runs if run in self._runs(user)] for user in self._keepers}
        await self._all(
            lambda keeper, user: keeper.freeze(team, mine[user], frozen=frozen) if mine[user] else _answer(None)
        )

    async def limit(self, team: str, limits: dict[str, Limits], team_limits: Limits) -> list[str]:
        mine = {u: {name: one for name, one in limits.items() if name in self._names(u)} for u in self._keepers}
        answers = await self._all(lambda keeper, user: keeper.limit(team, mine[user], team_limits))
        return list(dict.fromkeys(note for notes in answers.values() for note in notes))

    async def keep_environments(self, team: str, environments: dict[str, dict[str, str]]) -> None:
        mine = {u: {name: one for name, one in environments.items() if name in self._names(u)} for u in self._keepers}
        await self._all(lambda keeper, user: keeper.keep_environments(team, mine[user]))

    async def over(self, team: str, runs: dict[str, str]) -> list[str]:
        mine = {u: {run: name for run, name in runs.items() if name in self._names(u)} for u in self._keepers}
        answers = await self._all(lambda keeper, user: keeper.over(team, mine[user]))
        return [run for user, ended in answers.items() for run in ended if run in mine[user]]

    async def record(self, team: str, order: RecordingOrder) -> None:
        await self._all(lambda keeper, _: keeper.record(team, order))

    async def inventory(self, team: str) -> Inventory:
        """Of the owner's part alone; whoever wants to know of all asks for each (`Keepers.parts`)."""
        return await self._keepers[self._owner].inventory(team)

    async def usage(self, team: str) -> list[Usage]:
        answers = await self._all(lambda keeper, _: keeper.usage(team))
        found = [one for user, used in answers.items() for one in used if one.agent in self._names(user)]
        whole = of_parts([one for used in answers.values() for one in used if not one.agent])
        return found if whole is None else [*found, whole]

    async def listening(self, team: str, ports: list[int]) -> list[Listening]:
        answers = await self._all(lambda keeper, _: keeper.listening(team, ports))
        own = [one for user, seen in answers.items() for one in seen if one.agent in self._names(user)]
        known = {one.port for one in own}
        others = {one.port: one for one in answers[self._owner] if not one.agent and one.port not in known}
        return [*own, *others.values()]

    async def host_memory(self, teams: list[str]) -> HostMemory:
        answers = await self._all(lambda keeper, _: keeper.host_memory(teams))
        free: dict[str, float] = {}
        for seen in answers.values():
            for team, left in seen.free.items():
                free[team] = min(left, free.get(team, left))
        return HostMemory(free=free)

    async def bystanders(self, team: str, directories: list[str], asking: int) -> list[Bystander]:
        answers = await self._all(lambda keeper, _: keeper.bystanders(team, directories, asking))
        return list({one.pid: one for seen in answers.values() for one in seen}.values())

    async def census(self, team: str) -> list[Check]:
        answers = await self._all(lambda keeper, _: keeper.census(team))
        found: dict[str, Check] = {}
        for check in (check for checks in answers.values() for check in checks):
            known = found.get(check.what)
            if known is not None:
                both = None if None in (known.found, check.found) else (known.found or 0) + (check.found or 0)
                check = Check(what=check.what, found=both, residue=[*known.residue, *check.residue])
            found[check.what] = check
        return list(found.values())

    async def inspect_workspaces(self, team: str) -> list[WorkspaceRemoval]:
        answers = await self._all(lambda keeper, _: keeper.inspect_workspaces(team))
        return [one for seen in answers.values() for one in seen]

    async def processes(self, team: str, agent: str) -> list[Process]:
        answers = await self._all(lambda keeper, _: keeper.processes(team, agent))
        return [one for user, seen in answers.items() for one in seen if one.agent in self._names(user)]

    async def sessions(self, team: str) -> list[SharedSession]:
        answers = await self._all(lambda keeper, _: keeper.sessions(team))
        return [one for user, seen in answers.items() for one in seen if one.agent in self._names(user)]

    async def last_key(self, team: str) -> LastKey:
        answers = await self._all(lambda keeper, _: keeper.last_key(team))
        return LastKey(seconds=min((one.seconds for one in answers.values() if one.seconds is not None), default=None))

    async def announce(self, team: str, title: str, text: str, *, bell: bool, desktop: bool) -> Announced:
        # A person sits at the desktop of the team's own user, if at any.
        answers = await self._all(
            lambda keeper, user: keeper.announce(team, title, text, bell=bell, desktop=desktop and user == self._owner)
        )
        return Announced(
            terminals=sum(one.terminals for one in answers.values()),
            desktop=any(one.desktop for one in answers.values()),
            problems=[problem for one in answers.values() for problem in one.problems],
        )


async def _answer(value: Any) -> Any:
    return value


def _ended(answers: Mapping[str, tuple[set[str], Ended]]) -> Ended:
    """All of it, each believed about its own runs."""
    return Ended(
        gone=[run for own, ended in answers.values() for run in ended.gone if run in own],
        exits={run: status for own, ended in answers.values() for run, status in ended.exits.items() if run in own},
        killed=sum(ended.killed for _, ended in answers.values()),
        residue=[thing for _, ended in answers.values() for thing in ended.residue],
    )
