"""Requests of people that need an agent that goes on: a team that was paused because nobody was there wakes first."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from corral.api import requests
from corral.api.router import Handler
from corral.domain.errors import CorralError
from corral.domain.inbox_records import number_of
from corral.service.attendance import AttendanceWatch
from corral.service.inbox import InboxService
from corral.service.resolve import find_agent, find_team
from corral.supervise.registry import Registry

#: The team that a request is about; `CorralError` if there is none.
_Find = Callable[[Request], str]


class Welcome:
    """Puts the waking before the handlers that need it."""

    def __init__(self, registry: Registry, inbox: InboxService, attendance: AttendanceWatch) -> None:
        self._registry = registry
        self._inbox = inbox
        self._attendance = attendance
        #: The handlers of such requests, how the team of one is found, and what it will be journalled as. What others
        #: do is heard of when it is journalled.
        self._waking: dict[str, tuple[_Find, str]] = {
            "send": (self._of_agent, "message.queued"),
            "broadcast": (self._of_team, "message.queued"),
            "execute": (self._of_agent, "process.started"),
            "attach": (self._of_agent, "agent.attached"),
            "join_session": (self._of_agent, "session.joined"),
            "answer_entry": (self._of_entry, "inbox.answering"),
        }

    def __call__(self, name: str, handler: Handler) -> Handler:
        """The handler of that name, after the team was woken if need be."""
        if name not in self._waking:
            return handler
        find, event = self._waking[name]
        attendance = self._attendance

        async def welcomed(request: Request) -> Response:
            try:
                team = find(request)
            except CorralError:
                return await handler(request)  # which says what is wrong
            await attendance.welcome(requests.caller(request), team, event)
            return await handler(request)

        return welcomed

    def _of_agent(self, request: Request) -> str:
        return find_agent(
            self._registry,
            team=requests.text(request, "team"),
            agent=requests.text(request, "agent"),
            cwd=requests.text(request, "cwd"),
        ).team

    def _of_team(self, request: Request) -> str:
        return find_team(self._registry, name=requests.text(request, "team"), **requests.whereabouts(request)).name

    def _of_entry(self, request: Request) -> str:
        return self._inbox.show(number_of(request.path_params["entry"])).cause.team
