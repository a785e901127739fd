"""The routes of values that a whole team sees."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, kv_answers, requests
from corral.api.kv_bodies import TransactionBody
from corral.api.process_routes import while_heard
from corral.domain.errors import WrongUseError
from corral.domain.records import Team
from corral.service.kv import Kv
from corral.service.resolve import find_team
from corral.supervise.registry import Registry


class KvApi:
    """One method a route."""

    def __init__(self, registry: Registry, kv: Kv) -> None:
        self._registry = registry
        self._kv = kv

    async def get_value(self, request: Request) -> Response:
        key = requests.text(request, "key")
        return answers.json(kv_answers.value(key, await self._kv.get(self._team(request), key)))

    async def list_values(self, request: Request) -> Response:
        found, revision = await self._kv.below(self._team(request), requests.text(request, "prefix"))
        values = [kv_answers.value(key, value) for key, value in found]
        return answers.json(kv_answers.Values(revision=revision, values=values))

    async def change_values(self, request: Request) -> Response:
        wanted = (await requests.body(request, TransactionBody)).transaction()
        who = requests.caller(request)
        revision, changed = await self._kv.transact(who, self._team(request), wanted)
        return answers.json(kv_answers.Changed(revision=revision, changed=changed))

    async def list_changes(self, request: Request) -> Response:
        after = requests.whole_number(request, "after")
        if after is None:
            raise WrongUseError("after which revision?", "give after=N: GET /v1/kv/list tells the one to begin with")
        team, prefix, wait = self._team(request), requests.text(request, "prefix"), requests.number(request, "wait")
        found, following = await while_heard(request, self._kv.changes(team, prefix, after, wait or 0.0))
        return answers.json(kv_answers.Changes(changes=[kv_answers.change(seen) for seen in found], next=following))

    async def watch_values(self, request: Request) -> Response:
        team, prefix = self._team(request), requests.text(request, "prefix")
        changes = self._kv.watch(team, prefix, requests.whole_number(request, "after"))

        async def told() -> AsyncIterator[kv_answers.Change]:
            async for seen in changes:
                yield kv_answers.change(seen)

        return answers.lines(told())

    def _team(self, request: Request) -> Team:
        return find_team(self._registry, name=requests.text(request, "team"), **requests.whereabouts(request))
