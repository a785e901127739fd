"""The route that hooks ask before a write lands."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, write_answers
from corral.domain.errors import NotFoundError
from corral.service.lease_claims import Asking
from corral.service.resolve import find_asking
from corral.service.writes import WriteService
from corral.supervise.registry import Registry


class WriteApi:
    """One method a route."""

    def __init__(self, registry: Registry, writes: WriteService) -> None:
        self._registry = registry
        self._writes = writes

    async def check_writes(self, request: Request) -> Response:
        """Of a team that is not up, or an agent that is not in it, nothing is enforced: nobody holds anything there."""
        paths = [path for path in (await requests.raw_body(request)).split(b"\0") if path]
        named, agent_name, cwd = (requests.text(request, name) for name in ("team", "agent", "cwd"))
        try:
            team, agent = find_asking(self._registry, team=named, agent=agent_name, cwd=cwd)
        except NotFoundError:
            answer = write_answers.check(())
        else:
            answer = write_answers.check(
                await self._writes.check(
                    Asking(team=team, agent=agent, user=requests.caller(request).user),
                    paths,
                    run=requests.text(request, "run"),
                    ignore_case=requests.flag(request, "ignore_case"),
                    shared=requests.flag(request, "shared", default=True),
                )
            )
        if requests.header(request, b"accept") == "text/tab-separated-values":
            return write_answers.columns(answer)
        return answers.json(answer)
