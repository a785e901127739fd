"""The routes of tokens. Few daemons have any: what only they need is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests, token_answers
from corral.api.token_table import TokenBody
from corral.service.people import must_be_a_person
from corral.supervise.supervisor import Supervisor

if TYPE_CHECKING:
    from corral.service.tokens import Tokens

#: The tokens of the instance, once they are read.
Load = Callable[[], Awaitable["Tokens"]]
_FOR_PEOPLE = "making and revoking tokens"


class TokenApi:
    """One method a route."""

    def __init__(self, load: Load | None, supervisor: Supervisor, *, decides: bool) -> None:
        """`decides`: whoever gets here is known, and the policy has allowed it."""
        self._load = load
        self._supervisor = supervisor
        self._decides = decides

    async def token_ls(self, request: Request) -> Response:
        tokens = await self._tokens()
        user = "" if requests.flag(request, "all") else requests.text(request, "user") or requests.caller(request).user
        return answers.json([token_answers.token(tokens, one) for one in tokens.of(user)])

    async def token_add(self, request: Request) -> Response:
        requests.must_be_here(request, "making a token")
        await self._must_be_a_person(request)
        tokens, order, who = await self._tokens(), await requests.body(request, TokenBody), requests.caller(request)
        made, text = await tokens.add(who, order.user or who.user, note=order.note, seconds=order.expires)
        answer = token_answers.made(tokens, made, text)
        return answers.json_noting(answer, id=answer.id, user=answer.user, expires=answer.expires)

    async def token_rm(self, request: Request) -> Response:
        if not requests.via(request):  # who shows one may also give it up
            await self._must_be_a_person(request)
        tokens = await self._tokens()
        gone = await tokens.remove(requests.caller(request), request.path_params["token"])
        return answers.json_noting(token_answers.token(tokens, gone), user=gone.user)

    async def _must_be_a_person(self, request: Request) -> None:
        if not self._decides:
            who, remedy = requests.caller(request), "run it in a terminal of your own"
            await must_be_a_person(self._supervisor, who, requests.peer(request), what=_FOR_PEOPLE, remedy=remedy)

    async def _tokens(self) -> Tokens:
        assert self._load is not None  # every daemon has them
        return await self._load()
