"""The routes of ports."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, port_answers, requests
from corral.domain.errors import WrongUseError
from corral.domain.records import Agent
from corral.service.port_blocks import PortBlocks
from corral.service.resolve import find_agent, find_team
from corral.service.sight import CONTENTS_OF_PROCESS
from corral.supervise.registry import Registry


class PortApi:
    """One method a route."""

    def __init__(self, registry: Registry, ports: PortBlocks) -> None:
        self._registry = registry
        self._ports = ports

    async def get_port(self, request: Request) -> Response:
        if not requests.text(request, "agent"):
            raise WrongUseError("which agent?", "name it with --agent; in an agent it is that one")
        agent, name = self._agent(request), requests.text(request, "name")
        port = await self._ports.port(requests.caller(request), agent, name)
        answer = port_answers.Port(port=port, name=name or None, agent=agent.name, team=agent.team)
        return answers.json_noting(answer, port=port)

    async def list_ports(self, request: Request) -> Response:
        sight = requests.sight(request)
        chosen = await sight.rows(self._chosen(request), lambda agent: agent.key)
        named = bool(requests.text(request, "agent") or requests.text(request, "team"))
        found = await self._ports.uses(chosen, named=named)
        # Keepers were waited for: what may be told now is another question.
        listed = await sight.rows(found.ports, lambda one: one.concerns)
        opened = await sight.opened(CONTENTS_OF_PROCESS, (one.concerns for one in listed))
        rows = [port_answers.use(one, hidden=one.concerns not in opened) for one in listed]
        return answers.json_of_some(rows, found.unknown)

    def _chosen(self, request: Request) -> list[Agent]:
        if requests.text(request, "agent"):
            return [self._agent(request)]
        team = requests.text(request, "team")
        names = [find_team(self._registry, name=team).name] if team else sorted(self._registry.teams)
        return [agent for name in names for agent in self._registry.of_team(name).values()]

    def _agent(self, request: Request) -> Agent:
        return find_agent(
            self._registry,
            team=requests.text(request, "team"),
            agent=requests.text(request, "agent"),
            cwd=requests.text(request, "cwd"),
        )
