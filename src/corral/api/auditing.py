"""Every request is written into the audit trail: who asked, for which verb, on what, and what was answered.

A request that acts is in the trail before its handler runs, and on the disk before it is answered; what came of it is a
second entry with the same trace id. A request that only reads has one entry, with its outcome, written when it is
answered. Where an answer is a stream, or tells of work that goes on, its outcome is how that ended (`api.telling`). The
trace id is in the answer's head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral.api import requests
from corral.api.endpoint import Endpoint
from corral.api.router import Handler
from corral.domain.audit import AGENT, HOST, TEAM, UNKNOWN, Actor, Target
from corral.domain.errors import CorralError
from corral.service.audit import Audit

if TYPE_CHECKING:
    from corral.api.meant import Meant

#: The rule, while nobody but the kernel decides who may connect.
SOCKET_RULE = "socket"
#: They come as questions, and let somebody type.
_ACTING_QUESTIONS = frozenset({"attach"})


class Auditing:
    """Puts the trail around handlers. Without a trail it leaves them as they are."""

    def __init__(self, audit: Audit | None, meant: Meant | None = None) -> None:
        self._audit = audit
        self._meant = meant

    def __call__(self, endpoint: Endpoint, handler: Handler) -> Handler:
        """The handler of a route, audited."""
        if self._audit is None:
            return handler
        if acts(endpoint):
            return _acting(self._audit, self._meant, endpoint, handler)
        return _reading(self._audit, endpoint.handler, handler)

    def unrouted(self, handler: Handler) -> Handler:
        """The handler of a request that no route fits, audited: whoever tries doors leaves a trace."""
        return handler if self._audit is None else _reading(self._audit, UNKNOWN, handler)


def acts(endpoint: Endpoint) -> bool:
    """Whether a request of this kind may change something."""
    return endpoint.method != "GET" or endpoint.handler in _ACTING_QUESTIONS


def actor(request: Request) -> Actor:
    """Who asks: the user is what the kernel says. The agent is proved if a run is named with it, else claimed."""
    who = requests.caller(request)
    run, via = requests.identity(request).run, requests.via(request)
    return Actor(uid=who.uid, user=who.user, agent=who.agent, run=run, via=via)


def target(request: Request, order: object = None) -> Target:
    """On what, as far as the query says it, or the body if there is one (`said.order_of`)."""
    team, agent = requests.named(request)
    team, agent = getattr(order, "team", None) or team, getattr(order, "agent", None) or agent
    if "/" in agent:
        team, _, agent = agent.partition("/")
    return Target(kind=AGENT if agent else TEAM if team else HOST, team=team, agent=agent)


def _acting(audit: Audit, meant: Meant | None, endpoint: Endpoint, handler: Handler) -> Handler:
    from corral.api.said import order_of, said
    from corral.api.telling import Acted, told

    verb = endpoint.handler

    async def audited(request: Request) -> Response:
        order, trouble = None, None
        try:
            order = await order_of(request, endpoint)
        except (CorralError, ClientDisconnect) as error:
            trouble = error
        rows = None if meant is None or trouble is not None else await meant.rows(request, endpoint, order)
        rows, detail = rows or [(target(request, order), SOCKET_RULE)], said(verb, request, order)
        decision = await audit.decided_each(actor(request), verb, rows, allowed=True, detail=detail)
        request.scope[requests.TRACE] = decision.trace
        answer = handler(request) if trouble is None else _failed(trouble)
        try:
            return await told(answer, Acted(audit, decision, rows))
        finally:
            await audit.durable(decision)

    return audited


async def _failed(trouble: Exception) -> Response:
    """In the place of a handler that would have to read what cannot be read."""
    raise trouble


def _reading(audit: Audit, verb: str, handler: Handler) -> Handler:
    from corral.api.said import said
    from corral.api.telling import Read, told

    async def audited(request: Request) -> Response:
        await audit.ready()
        rows = [(target(request), SOCKET_RULE)]
        return await told(handler(request), Read(audit, actor(request), verb, rows, said(verb, request)))

    return audited
