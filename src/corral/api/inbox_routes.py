"""The routes of what waits for a person."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, inbox_answers, inbox_bodies, requests
from corral.domain.inbox_records import SNOOZED, Entry, number_of
from corral.service.inbox import InboxService
from corral.service.resolve import find_team
from corral.service.sight import Sight
from corral.supervise.registry import Registry


class InboxApi:
    """One method a route."""

    def __init__(self, registry: Registry, inbox: InboxService) -> None:
        self._registry = registry
        self._inbox = inbox

    async def list_entries(self, request: Request) -> Response:
        team, everything = self._team(request), requests.flag(request, "all")
        return answers.json(await self._entries(requests.sight(request), team, everything=everything))

    async def watch_entries(self, request: Request) -> Response:
        team, sight = self._team(request), requests.sight(request)

        async def told() -> AsyncIterator[inbox_answers.Entries]:
            while True:
                yield await self._entries(sight, team, everything=False)
                await self._inbox.change()

        return answers.lines(told())

    async def show_entry(self, request: Request) -> Response:
        return answers.json(inbox_answers.whole(self._inbox.show(_number(request))))

    async def claim_entry(self, request: Request) -> Response:
        claimed = await self._inbox.claim(requests.caller(request), requests.peer(request), _number(request))
        return answers.json(inbox_answers.entry(claimed))

    async def answer_entry(self, request: Request) -> Response:
        answer = (await requests.body(request, inbox_bodies.AnswerBody)).answer()
        who, peer = requests.caller(request), requests.peer(request)
        answered = await self._inbox.answer(who, peer, _number(request), answer)
        return answers.json(inbox_answers.entry(answered))

    async def snooze_entry(self, request: Request) -> Response:
        order = await requests.body(request, inbox_bodies.SnoozeBody)
        who, peer = requests.caller(request), requests.peer(request)
        snoozed = await self._inbox.snooze(who, peer, _number(request), order.seconds)
        return answers.json(inbox_answers.entry(snoozed))

    async def _entries(self, sight: Sight, team: str, *, everything: bool) -> inbox_answers.Entries:
        found = await sight.rows(self._inbox.list(team=team, everything=everything), whose)
        waiting = sum(entry.waits and entry.state != SNOOZED for entry in found)
        return inbox_answers.Entries(waiting=waiting, entries=[inbox_answers.entry(entry) for entry in found])

    def _team(self, request: Request) -> str:
        team = requests.text(request, "team")
        return find_team(self._registry, name=team).name if team else ""


def whose(entry: Entry) -> tuple[str, str]:
    """The team and the agent that wait."""
    return entry.cause.team, entry.cause.agent


def _number(request: Request) -> int:
    return number_of(request.path_params["entry"])
