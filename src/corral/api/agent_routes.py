"""The routes of agents that there are: what they do, what is done with them, and what they show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, streams
from corral.api.inbox_routes import whose
from corral.api.services import Services
from corral.api.team_bodies import AgentsBody, ChosenBody, ForkBody, RemoveBody, RestartBody
from corral.api.working import Working
from corral.domain.records import Agent
from corral.service.lists import teams_seen
from corral.service.progress import Tell
from corral.service.resolve import find_agent, find_agents, find_team
from corral.service.sight import CONTENTS_OF_AGENT, Sight


class AgentApi:
    """One method a route."""

    def __init__(self, services: Services, work: Working) -> None:
        self._services = services
        self._registry = services.registry
        self._work = work

    async def list_agents(self, request: Request) -> Response:
        team = requests.text(request, "team")
        if requests.text(request, "agent"):
            chosen = [self._one_agent(request)]
        elif team:
            chosen = list(self._registry.of_team(find_team(self._registry, name=team).name).values())
        else:
            teams = sorted(self._registry.teams)
            chosen = [agent for name in teams for agent in self._registry.of_team(name).values()]
        sight = requests.sight(request)
        chosen = await sight.rows(chosen, lambda agent: agent.key)
        opened = await sight.opened(CONTENTS_OF_AGENT, (agent.key for agent in chosen))
        if requests.header(request, b"accept") == "text/tab-separated-values":
            table = answers.agent_table(self._registry, chosen, opened)
            table.headers[answers.WAITING_HEADER] = str(await self._waiting(sight, team))
            return table
        return answers.json(
            [answers.agent_object(self._registry, agent, hidden=agent.key not in opened) for agent in chosen]
        )

    async def _waiting(self, sight: Sight, team: str) -> int:
        """How many agents, or merges of people, wait for somebody, of those that the caller sees."""
        found = await sight.rows(self._services.inbox.unattended(team), whose)
        return len({(entry.cause.team, entry.cause.agent or entry.cause.key) for entry in found})

    async def stop(self, request: Request) -> Response:
        return await self._on_agents(request, self._services.agents.stop)

    async def restart(self, request: Request) -> Response:
        order = await requests.body(request, RestartBody)
        return self._act(request, order, partial(self._services.agents.restart, fresh=order.fresh))

    async def fork(self, request: Request) -> Response:
        order = await requests.body(request, ForkBody)
        who = requests.caller(request)
        source = find_agent(self._registry, team=order.team or "", agent=order.agent, cwd=order.cwd)
        again = partial(requests.again, request)
        return self._work(
            lambda tell: self._services.fork(who, source, order.name, order.prompt, tell=tell, may_go_on=again)
        )

    async def remove(self, request: Request) -> Response:
        order = await requests.body(request, RemoveBody)
        who, caller = requests.caller(request), requests.caller_pid(request)
        team, names = self._chosen(order)

        async def do(tell: Tell) -> object:
            outcomes = await self._services.agents.remove(
                who,
                team,
                names,
                caller=caller,
                grace=order.grace,
                discard=order.discard,
                force=order.force,
                tell=tell,
                may_go_on=partial(requests.again, request),
            )
            return {"team": team, "agents": outcomes}

        return self._work(do)

    async def pause(self, request: Request) -> Response:
        return await self._hold(request, self._services.holding.pause)

    async def resume(self, request: Request) -> Response:
        return await self._hold(request, self._services.holding.resume)

    async def stats(self, request: Request) -> Response:
        team, wanted = requests.text(request, "team"), requests.texts(request, "agent")
        names: list[str] = []
        if wanted:
            chosen, names = find_agents(
                self._registry, team=team, agents=wanted, everyone=False, cwd=requests.text(request, "cwd")
            )
            team = chosen.name
        elif team:
            find_team(self._registry, name=team)
        sight = requests.sight(request)
        looks = self._services.stats.read(
            team=team,
            names=names,
            every=requests.interval(request),
            teams=partial(teams_seen, sight, self._registry),
        )
        return answers.lines(streams.stats(looks, sight))

    async def attach(self, request: Request) -> Response:
        agent = self._one_agent(request)
        argv = await self._services.agents.attach(
            requests.caller(request), requests.peer(request), agent, read_only=requests.flag(request, "read_only")
        )
        whose = {"team": agent.team, "agent": agent.name, "user": agent.user, "terminal": agent.terminal}
        return answers.json({**whose, "argv": argv})

    async def screen(self, request: Request) -> Response:
        agent = self._one_agent(request)
        shown = await self._services.agents.screen(agent)
        return answers.json({"team": agent.team, "agent": agent.name, "lines": shown.lines, "title": shown.title})

    async def logs(self, request: Request) -> Response:
        wanted = requests.texts(request, "agent")
        team, names = find_agents(
            self._registry,
            team=requests.text(request, "team"),
            agents=wanted,
            everyone=not wanted,
            **requests.whereabouts(request),
        )
        return answers.lines(
            self._services.agents.logs(
                team.name,
                names,
                lines=requests.whole_number(request, "lines"),
                since=requests.number(request, "since"),
                follow=requests.flag(request, "follow"),
            )
        )

    async def _on_agents(self, request: Request, use_case: Callable[..., Awaitable[object]]) -> Response:
        return self._act(request, await requests.body(request, AgentsBody), use_case)

    def _act(self, request: Request, order: AgentsBody, use_case: Callable[..., Awaitable[object]]) -> Response:
        who = requests.caller(request)
        team, names = self._chosen(order)
        self._services.attendance.meant(who, team, names)

        async def do(tell: Tell) -> object:
            again = partial(requests.again, request)
            outcomes = await use_case(who, team, names, grace=order.grace, tell=tell, may_go_on=again)
            return {"team": team, "agents": outcomes}

        return self._work(do)

    async def _hold(self, request: Request, use_case: Callable[..., Awaitable[object]]) -> Response:
        order = await requests.body(request, ChosenBody)
        who = requests.caller(request)
        team, names = self._chosen(order)

        async def do(tell: Tell) -> object:
            again = partial(requests.again, request)
            outcomes = await use_case(who, team, names, everyone=order.all, tell=tell, may_go_on=again)
            return {"team": team, "agents": outcomes}

        return self._work(do)

    def _chosen(self, order: ChosenBody) -> tuple[str, list[str]]:
        team, names = find_agents(
            self._registry,
            team=order.team or "",
            agents=order.agents,
            everyone=order.all,
            cwd=order.cwd,
            nearest=order.nearest,
        )
        return team.name, names

    def _one_agent(self, request: Request) -> Agent:
        return find_agent(
            self._registry,
            team=requests.text(request, "team"),
            agent=requests.text(request, "agent"),
            cwd=requests.text(request, "cwd"),
        )
