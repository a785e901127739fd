"""The routes of teams as a whole."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, team_answers
from corral.api.services import Services
from corral.api.team_bodies import DownBody, UpBody
from corral.api.working import Working
from corral.service.progress import Tell
from corral.service.up_result import UpResult


class TeamApi:
    """One method a route."""

    def __init__(self, services: Services, work: Working) -> None:
        self._services = services
        self._registry = services.registry
        self._work = work

    async def list_teams(self, request: Request) -> Response:
        teams = await requests.sight(request).rows(self._registry.teams.values(), lambda team: (team.name, ""))
        return answers.json(team_answers.listed(teams))

    async def up(self, request: Request) -> Response:
        order = await requests.body(request, UpBody)
        who = requests.caller(request)

        async def do(tell: Tell) -> UpResult:
            result = await self._services.up(
                who,
                file=order.file,
                text=order.text,
                only=order.agents,
                restart_changed=order.restart_changed,
                dry_run=order.dry_run,
                wait=order.wait,
                environment=order.environment,
                tell=tell,
                may_go_on=partial(requests.again, request),
            )
            if not order.dry_run:
                # Somebody is there, also if there was nothing to do.
                await self._services.attendance.welcome(who, result.team, "team.up")
            return result

        return self._work(do)

    async def down(self, request: Request) -> Response:
        order = await requests.body(request, DownBody)
        who = requests.caller(request)
        team = self._services.down.find(name=order.team or "", file=order.file or "", cwd=order.cwd)
        return self._work(
            lambda tell: self._services.down(
                who,
                team,
                caller=requests.caller_pid(request),
                grace=order.grace,
                discard=order.discard,
                tell=tell,
                may_go_on=partial(requests.again, request),
            )
        )
