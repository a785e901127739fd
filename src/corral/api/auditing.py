"""Every request is written into the audit trail: who asked, for which verb, on what, and what was answered.

A request that acts is in the trail before its handler runs, and on the disk before it is answered; what came of it is a
second entry with the same trace id. A request that only reads has one entry, with its outcome, written when it is
answered. Where an answer is a stream, its outcome is that it began. The trace id is in the answer's head.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral.api import answers, requests
from corral.api.endpoint import Endpoint
from corral.api.router import Handler
from corral.domain.audit import AGENT, HOST, TEAM, Actor, Target
from corral.domain.errors import CorralError
from corral.service.audit import Audit

#: In every answer that has been audited: the trace id of its entries.
TRACE_HEADER = b"x-corral-trace"
#: What is asked for in a way that no route fits.
UNKNOWN = "unknown"
#: The outcome of a request whose caller went away before it was answered.
LEFT = "left"
#: The rule, while nobody but the kernel decides who may connect.
_SOCKET_RULE = "socket"
#: They come as questions, and let somebody type.
_ACTING_QUESTIONS = frozenset({"attach"})


class Auditing:
    """Puts the trail around handlers. Without a trail it leaves them as they are."""

    def __init__(self, audit: Audit | None) -> None:
        self._audit = audit

    def __call__(self, endpoint: Endpoint, handler: Handler) -> Handler:
        """The handler of a route, audited."""
        if self._audit is None:
            return handler
        around = _acting if acts(endpoint) else _reading
        return around(self._audit, endpoint.handler, handler)

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


def target(request: Request) -> Target:
    """On what, as far as the query says it."""
    team, agent = requests.named(request)
    if "/" in agent:
        team, _, agent = agent.partition("/")
    return Target(kind=AGENT if agent else TEAM if team else HOST, team=team, agent=agent)


def _acting(audit: Audit, verb: str, handler: Handler) -> Handler:
    async def audited(request: Request) -> Response:
        decision = await audit.decided(actor(request), verb, target(request), allowed=True, rule=_SOCKET_RULE)

        def tell(outcome: str, detail: dict[str, object]) -> str:
            audit.done(decision, outcome, detail)
            return decision.trace

        try:
            response = await told(handler(request), tell)
        except Exception:
            await audit.durable(decision)
            raise
        await audit.durable(decision)
        return response

    return audited


def _reading(audit: Audit, verb: str, handler: Handler) -> Handler:
    async def audited(request: Request) -> Response:
        await audit.ready()

        def tell(outcome: str, detail: dict[str, object]) -> str:
            who, on = actor(request), target(request)
            return audit.noted(who, verb, on, rule=_SOCKET_RULE, outcome=outcome, detail=detail)

        return await told(handler(request), tell)

    return audited


async def told(answer: Awaitable[Response], tell: Callable[[str, dict[str, object]], str]) -> Response:
    """The answer, with its trace id, once `tell` knows what it is. What the handler raises is told of and raised."""
    try:
        response = await answer
    except CorralError as error:
        tell(str(answers.failure(error).status_code), {"error": error.code})
        raise
    except ClientDisconnect:
        tell(LEFT, {})
        raise
    except Exception as error:
        tell("500", {"error": type(error).__name__})
        raise
    trace = tell(str(response.status_code), {})
    response.raw_headers.append((TRACE_HEADER, trace.encode("ascii")))
    return response
