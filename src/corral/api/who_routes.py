"""The route of who had to do with a file."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, who_answers
from corral.service.resolve import find_asking
from corral.service.who import DEFAULT_LIMIT, Question, Who
from corral.supervise.registry import Registry


class WhoApi:
    """One method a route."""

    def __init__(self, registry: Registry, who: Who) -> None:
        self._registry = registry
        self._who = who

    async def who_touched(self, request: Request) -> Response:
        named, agent_name = (requests.text(request, name) for name in ("team", "agent"))
        team, agent = find_asking(self._registry, team=named, agent=agent_name, **requests.whereabouts(request))
        limit = requests.whole_number(request, "limit")
        found = await self._who.of(
            Question(
                team=team,
                agent=agent,
                user=requests.caller(request).user,
                path=requests.file_name(request, "path"),
                cwd=requests.file_name(request, "cwd"),
                since=requests.number(request, "since"),
                limit=DEFAULT_LIMIT if limit is None else limit,
            ),
            requests.sight(request),
        )
        return answers.json(who_answers.found(found))
