"""Writes what came of a request into the audit trail when that is known: of a stream, or of work, when it is over.

What a request was decided about are its *rows*: each thing, and the rule. What came of it is an entry for each of them,
and for each agent that something was done to besides, such as those of a team that was started: all of one trace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral.api import requests
from corral.api.answers import Document, of_error
from corral.api.lasting import Ending, Lasting
from corral.api.outcomes import came_of
from corral.api.router import Handler
from corral.domain.audit import AGENT, Actor, Target
from corral.domain.errors import CorralError
from corral.domain.foreign_words import as_told_to
from corral.service.audit import Audit, Decision

#: In every answer that has been audited: the trace id of its entries.
TRACE_HEADER = b"x-corral-trace"

#: What a request is about, each with the rule that decided.
Rows = Sequence[tuple[Target, str]]


class Sheet(Protocol):
    """What is noted about one request. Both give its trace id."""

    @property
    def verb(self) -> str:
        """What was asked."""
        ...

    def begun(self) -> str:
        """It has begun, and will take its time."""
        ...

    def ended(self, ending: Ending) -> str:
        """It is over."""
        ...


class Acted:
    """The sheet of a request whose decision is in the trail already."""

    def __init__(self, audit: Audit, decision: Decision, rows: Rows) -> None:
        self._audit = audit
        self._decision = decision
        self._rows = rows

    @property
    def verb(self) -> str:
        return self._decision.note.verb

    def begun(self) -> str:
        return self._decision.trace

    def ended(self, ending: Ending) -> str:
        decision, done = self._decision, self._audit.done
        whole, parts = came_of(decision.note.verb, ending)
        if not parts and len(self._rows) == 1:  # as of most requests
            done(decision, whole.word, whole.detail)
            return decision.trace
        of_agents = {(part.team, part.agent): part.outcome for part in parts}
        named = {(on.team, on.agent): (on, rule) for on, rule in self._rows}
        for (team, agent), outcome in of_agents.items():
            if (team, agent) not in named:
                on = Target(kind=AGENT, team=team, agent=agent)
                done(decision, outcome.word, outcome.detail, on=on, rule=self._rows[0][1])
        for key, (on, rule) in named.items():
            outcome = of_agents.get(key, whole)
            done(decision, outcome.word, outcome.detail, on=on, rule=rule)
        return decision.trace


class Read:
    """The sheet of a request that only reads: one entry when it is answered, or two if that takes its time."""

    def __init__(self, audit: Audit, who: Actor, verb: str, rows: Rows, said: Mapping[str, object]) -> None:
        self._audit = audit
        self._who = who
        self.verb = verb
        self._rows = rows
        self._said = said
        self._begun: Acted | None = None

    def begun(self) -> str:
        decision = self._audit.begun(self._who, self.verb, self._rows, self._said)
        self._begun = Acted(self._audit, decision, self._rows)
        return decision.trace

    def ended(self, ending: Ending) -> str:
        if self._begun is not None:
            return self._begun.ended(ending)
        outcome, _ = came_of(self.verb, ending)
        (on, rule), *more = self._rows
        detail = {**self._said, **outcome.detail} if self._said else outcome.detail
        if more:
            detail = {**detail, "and": len(more)}
        return self._audit.noted(self._who, self.verb, on, rule=rule, outcome=outcome.word, detail=detail)


def in_whose_words(handler: Handler) -> Handler:
    """The handler; what somebody else's keeper says went wrong is told as that keeper's word, and not as Corral's: also
    where it goes wrong when the answer has begun."""

    async def attributed(request: Request) -> Response:
        user = requests.caller(request).user
        try:
            response = await handler(request)
        except CorralError as error:
            raise as_told_to(error, user) from None
        if isinstance(response, Lasting):
            response.worded = lambda error: as_told_to(error, user)
        return response

    return attributed


async def told(answer: Awaitable[Response], sheet: Sheet) -> Response:
    """The answer, with its trace id, and what came of it in the trail, once that is known. What the handler raises is
    an answer as well; but nobody hears one who has gone away."""
    try:
        response = await answer
    except ClientDisconnect as error:
        sheet.ended(Ending(error=error))
        raise
    except Exception as error:
        return traced(of_error(error, sheet.verb), sheet.ended(Ending(error=error)))
    if isinstance(response, Lasting):
        trace = sheet.begun()
        response.when_over(sheet.ended)
    else:
        if isinstance(response, Document):
            ending = Ending(status=response.status_code, result=response.result, noted=response.noted)
        else:
            ending = Ending(status=response.status_code)
        trace = sheet.ended(ending)
    return traced(response, trace)


def traced(response: Response, trace: str) -> Response:
    """An answer that says under which trace id it is in the trail."""
    response.raw_headers.append((TRACE_HEADER, trace.encode("ascii")))
    return response
