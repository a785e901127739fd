"""Requests of people that need an agent that goes on: a team that was paused because nobody was there wakes first."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import requests
from corral.api.router import Handler
from corral.domain.errors import CorralError
from corral.service.attendance import AttendanceWatch
from corral.service.resolve import find_agent
from corral.supervise.registry import Registry

#: The handlers of such requests, which name an agent in their query. What others do is heard of when it is journalled.
_WAKING = frozenset(["send", "execute", "attach"])


def welcoming(name: str, handler: Handler, registry: Registry, attendance: AttendanceWatch) -> Handler:
    """The handler of that name, after the team was woken if need be."""
    if name not in _WAKING:
        return handler

    async def welcomed(request: Request) -> Response:
        try:
            agent = find_agent(
                registry,
                team=requests.text(request, "team"),
                agent=requests.text(request, "agent"),
                cwd=requests.text(request, "cwd"),
            )
        except CorralError:
            return await handler(request)  # which says what is wrong
        await attendance.welcome(requests.caller(request), agent.team)
        return await handler(request)

    return welcomed
