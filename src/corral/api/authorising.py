"""Every request of a shared server is decided about before its handler runs, and both are written into the audit trail.

| step | what happens |
|---|---|
| 1 | who asks is known (`requests.caller`); what has to be waited for is waited for: the body, where a process is |
| 2 | what it is about is found, and the policy asked, in a pass that waits for nothing (`service.authority`) |
| 3 | a denial is written down with its rule, and answered: 403, or as if the thing were not there (below) |
| 4 | that it is allowed is written down, if it acts; then step 2 is done again, because that took time |
| 5 | the handler gets the request as it was decided about: names and body are put in the place of what was there |

Whoever may not know that a thing is there (`list_agents`) is answered as if it were not: 404. The trail has that as not
allowed. Whoever may not even know of themselves is told so, whatever they ask for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Hashable, Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from corral.api import answers, requests
from corral.api.about import About, Case, Finder, pinned
from corral.api.about_table import (
    BODIES,
    LASTING,
    LISTS,
    LOCKED,
    MOST_BYTES,
    PROCESSES,
    SIGHTED,
    STREAMED_BODIES,
    WAITING,
    Table,
)
from corral.api.auditing import acts, target
from corral.api.endpoint import STREAM, Endpoint
from corral.api.lasting import LEFT, Ending, Flow
from corral.api.meant import declared_by, place_of
from corral.api.router import Handler
from corral.api.ruling import Ruling, actor, denied, rows
from corral.api.said import is_in_body, order_of, said
from corral.api.telling import Acted, in_whose_words, told, traced
from corral.domain.audit import UNKNOWN
from corral.domain.errors import CorralError, DeniedError, NotFoundError
from corral.domain.policy import HOST, Decision, Target
from corral.ports.policy import Facts
from corral.service.audit import Audit
from corral.service.authority import SEES, Asking, Authority, is_worth_remembering
from corral.service.processes import Processes
from corral.service.resolve import Roster
from corral.service.seen import Seen
from corral.service.sight import AskedSight
from corral.service.spec_files import SpecFiles

#: The rule of what no policy was asked about, because there is no such thing, or the request cannot be understood.
NOT_ASKED = "not_asked"
#: The body of what is denied is for the trail alone: so long it is waited for, and so much of it is read.
_DENIED_SECONDS, _DENIED_BYTES = 1.0, 64 * 1024


class Authorising:
    """Puts the decision around handlers, and the trail around both."""

    def __init__(
        self,
        authority: Authority,
        audit: Audit | None,
        registry: Roster,
        processes: Processes,
        files: SpecFiles,
        table: Table,
    ) -> None:
        self._authority = authority
        self._audit = audit
        self._registry = registry
        self._processes = processes
        self._files = files
        self._finders = table.finders

    def __call__(self, endpoint: Endpoint, handler: Handler) -> Handler:
        """The handler of a route, for those who may. One that nothing can be found for is for nobody."""
        finder = self._finders.get(endpoint.handler)
        if finder is None:
            raise LookupError(f"{endpoint.handler} is not in api/about_table.py")
        handler = in_whose_words(handler)

        async def authorised(request: Request) -> Response:
            return await _Request(self, endpoint, finder, request).serve(handler)

        streams = endpoint.how == STREAM and endpoint.handler not in LISTS
        # Who waits is asked about again meanwhile, as who hears a stream is.
        waits = endpoint.handler in WAITING
        if acts(endpoint) or streams or waits or endpoint.body is not None or endpoint.handler not in LASTING:
            return authorised
        return self._quickly(endpoint.handler, handler, authorised)

    def unrouted(self, handler: Handler) -> Handler:
        """The handler of a request that no route fits: whoever tries doors leaves a trace, and none has opened."""
        audit = self._audit
        if audit is None:
            return handler

        async def tried(request: Request) -> Response:
            try:
                return await handler(request)
            except CorralError as error:
                answer, detail = answers.failure(error), {"error": error.code}
                who, on, outcome = actor(request, self.asking(request)), target(request), str(answer.status_code)
                noted = await audit.decided(
                    who, UNKNOWN, on, allowed=False, rule=NOT_ASKED, outcome=outcome, detail=detail
                )
                return traced(answer, noted.trace)

        return tried

    def _quickly(self, verb: str, handler: Handler, otherwise: Handler) -> Handler:
        """The shortest way for what is only read, and was decided about before: most requests are such."""
        audit = self._audit

        async def quickly(request: Request) -> Response:
            asked = requests.caller(request), requests.via(request), requests.identity(request).run
            ruling = self.remembered((verb, *asked, request.scope["query_string"]))
            if ruling is None or ruling.denial is not None or (audit is not None and not audit.is_ready):
                return await otherwise(request)
            if ruling.about.pins:
                request.scope["query_string"] = ruling.pinned
            if verb in SIGHTED:
                request.scope[requests.SIGHT] = AskedSight(self.asking(request), verb)
            if audit is None:
                return await handler(request)
            return await told(handler(request), ruling.sheet(audit, verb, said(verb, request)))

        return quickly

    def remembered(self, key: Hashable) -> Ruling | None:
        """What was decided about the same request, if nothing has changed since."""
        found = self._authority.memory().get(key)
        return found if isinstance(found, Ruling) else None

    def remember(self, key: Hashable, ruling: Ruling) -> None:
        """Until something changes."""
        self._authority.memory()[key] = ruling

    @property
    def audit(self) -> Audit | None:
        return self._audit

    @property
    def facts(self) -> Facts:
        return self._authority.facts

    def asking(self, request: Request) -> Asking:
        """For the questions about a request."""
        return Asking(self._authority, requests.caller(request))

    def case(
        self,
        verb: str,
        request: Request,
        asking: Asking,
        body: object,
        place: tuple[str, str] | None,
        declares: str,
    ) -> Case:
        """For a finder."""
        return Case(
            verb=verb,
            request=request,
            asking=asking,
            seen=Seen(self._registry, asking),
            everything=self._registry,
            body=body if isinstance(body, requests.Body) else None,
            place=place,
            declares=declares,
        )

    async def declared(self, body: object, asking: Asking) -> str:
        """See `Case.declares`."""
        return await declared_by(body, asking, self._files)

    async def place(self, request: Request, asking: Asking) -> tuple[str, str] | None:
        """Whose the process of a request is; None if nobody knows it, or the request says so itself."""

        async def sees(owner: tuple[str, str]) -> bool:
            return await asking.settled(lambda: asking.sees(*owner))

        return await place_of(request, self._processes, await self._searched(request, asking), sees)

    async def _searched(self, request: Request, asking: Asking) -> list[str]:
        """The teams that a process is looked for in: the one that is named, of those that may be seen."""
        named = requests.text(request, "team")
        seen = await asking.settled(lambda: list(Seen(self._registry, asking).teams))
        return [team for team in seen if named in ("", team)]


class _Request:
    """One request, on its way."""

    def __init__(self, around: Authorising, endpoint: Endpoint, finder: Finder, request: Request) -> None:
        self._around = around
        self._verb = endpoint.handler
        self._endpoint = endpoint
        self._finder = finder
        self._request = request
        self._asking = around.asking(request)
        self._body: object = None
        #: Whether the body was read, or could not be.
        self._is_read = False
        self._place: tuple[str, str] | None = None
        self._declares = ""
        #: Under which trace id it is in the trail that it was not done; empty if it is not there.
        self._noted = ""
        #: The query as it came: the handler's is another, and passes look at this.
        self._query: bytes = request.scope["query_string"]
        # By run as well: what is remembered says who acts, for the trail, and an agent is another one when it restarts.
        asked = self._asking.who, requests.via(request), requests.identity(request).run
        self._key = (self._verb, *asked, self._query) if self._verb in LASTING else None

    async def serve(self, handler: Handler) -> Response:
        """Decide, and let the handler answer, or say no."""
        try:
            return await self._serve(handler)
        except CorralError as error:
            if not self._noted:
                raise
            return traced(answers.failure(error), self._noted)

    async def _serve(self, handler: Handler) -> Response:
        audit = self._around.audit
        if audit is not None:
            await audit.ready()
        try:
            ruling = await self._first_ruling()
        except CorralError as error:
            raise await self._told_error(error) from None
        except ClientDisconnect:
            await self._note_denial([self._unasked(NOT_ASKED)], LEFT, {})
            raise
        await self._refuse(ruling)
        if audit is None:
            self._fix(ruling.about)
            response = await handler(self._request)
        elif not acts(self._endpoint):
            self._fix(ruling.about)
            sheet = ruling.sheet(audit, self._verb, said(self._verb, self._request, self._body))
            response = await told(handler(self._request), sheet)
        else:
            response = await self._act(audit, ruling, handler)
        if isinstance(response, Flow) and self._verb not in LISTS:
            response.body_iterator = self._while_allowed(response, response.body_iterator, ruling.about)
        return response

    async def _first_ruling(self) -> Ruling:
        """What is decided, when all that the handler would wait for at first is there."""
        kind, streamed = self._endpoint.body, self._verb in STREAMED_BODIES
        decides_by_body = isinstance(kind, type) and self._verb in BODIES
        if decides_by_body or self._verb in PROCESSES:
            # Not for somebody who may do nothing at all.
            await self._asking.settled(self._must_be_somebody)
        if decides_by_body:
            await self._read_body()
            self._declares = await self._around.declared(self._body, self._asking)
        if self._verb in PROCESSES:
            self._place = await self._around.place(self._request, self._asking)
        ruling = await self._ruling()
        if kind is not None and not decides_by_body and not streamed and ruling.denial is None:
            await self._read_body()
            ruling = await self._ruling()
        return ruling

    async def _ruling(self) -> Ruling:
        """What is decided now. Nothing is waited for behind it, and nothing at all if it is remembered."""
        if self._key is None:
            return await self._asking.settled(self._look)
        found = self._around.remembered(self._key)
        if found is None:
            found = await self._asking.settled(self._look)
            if self._asking.by_heart and is_worth_remembering(self._query):
                self._around.remember(self._key, found)
        return found

    async def _read_body(self) -> None:
        request, kind = self._request, self._endpoint.body
        most = MOST_BYTES.get(self._verb, requests.MAX_BODY)
        self._is_read = True
        request.scope[requests.RAW] = await requests.raw_body(request, most)
        if self._verb in BODIES and isinstance(kind, type):
            self._body = await requests.body(request, kind)
        else:
            self._body = await order_of(request, self._endpoint, most)

    def _must_be_somebody(self) -> None:
        """Raise for whoever may not even know of themselves: they are told so, and nothing else."""
        itself = self._asking.itself
        decision = self._asking.decision(SEES, itself)
        if not decision.allow:
            raise denied(decision, self._asking.question(SEES, itself))

    def _look(self) -> Ruling:
        """One pass: what it is about, and what is decided about that."""
        self._request.scope["query_string"] = self._query
        asking = self._asking
        about = self._finder(
            self._around.case(self._verb, self._request, asking, self._body, self._place, self._declares)
        )
        asked = [(on, facts) for facts in (about.facts, *about.more_facts) for on in about.on]
        return Ruling(
            about,
            tuple((on, asking.decision(self._verb, on, facts)) for on, facts in asked),
            actor(self._request, asking),
            self._query,
        )

    def _fix(self, about: About) -> None:
        """Have the handler read what was decided about."""
        request = self._request
        if about.pins:
            request.scope["query_string"] = pinned(self._query, about.pins)
        order = about.order if about.order is not None else self._body
        if order is not None:
            request.scope[requests.ORDER] = order
        # From now on the request means this, also where it is looked at again.
        self._body, self._query = order, request.scope["query_string"]
        self._key = None if self._key is None else (*self._key[:-1], self._query)
        if self._verb in SIGHTED:
            request.scope[requests.SIGHT] = AskedSight(self._around.asking(request), self._verb)
        if self._verb in LOCKED:
            request.scope[requests.AGAIN] = self._again
        request.scope[requests.STILL] = self._while_under_way(about)

    async def _again(self) -> None:
        try:
            ruling = await self._ruling()
        except CorralError as error:
            raise await self._told_error(error) from None
        await self._refuse(ruling)

    async def _while_allowed(self, flow: Flow, pieces: AsyncIterable[Any], about: About) -> AsyncIterator[Any]:
        """A stream, as long as whoever hears it may. Asked again now and then, with what comes."""
        still = self._while_under_way(about)
        async for piece in pieces:
            try:
                await still()
            except DeniedError as error:
                flow.over(Ending(error=error))
                yield answers.last_line(error)
                return
            yield piece

    def _while_under_way(self, about: About) -> Callable[[], Awaitable[None]]:
        """Asks whether what is under way may go on, if that was not asked a moment ago. Raises DeniedError if not."""
        clock = asyncio.get_running_loop().time
        asked = clock()

        async def still() -> None:
            nonlocal asked
            if clock() - asked >= requests.STILL_SECONDS:
                try:
                    await self._asking.settled(lambda: self._still(about))
                except DeniedError as error:
                    denial = Decision(allow=False, rule=str(error.details.get("rule", NOT_ASKED)), reason="")
                    await self._note_error([(on, denial) for on in about.on], error)
                    raise
                asked = clock()

        return still

    def _still(self, about: About) -> None:
        """Raise if it would be denied now. What is gone is nobody's, and says no more."""
        asking, facts = self._asking, self._around.facts
        self._must_be_somebody()
        for on in about.on:
            now = facts.target(on.team, on.agent) if on.team else on
            decision = None if now is None else asking.decision(self._verb, now, about.facts)
            if decision is not None and not decision.allow:
                raise denied(decision, asking.question(self._verb, now or on, about.facts))

    # Telling

    async def _refuse(self, ruling: Ruling) -> None:
        """Raise if something of it is denied, when that is written down."""
        error = ruling.refusal(self._verb, self._asking.caller)
        if error is not None:
            await self._note_error([one for one in ruling.decisions if not one[1].allow], error)
            raise error

    async def _told_error(self, error: CorralError) -> CorralError:
        """What is answered if it could not even be found out what the request is about; it is in the trail."""
        rule = NOT_ASKED
        if isinstance(error, DeniedError):
            rule = str(error.details.get("rule", rule))
        elif isinstance(error, NotFoundError):
            try:
                await self._asking.settled(self._must_be_somebody)
            except DeniedError as denial:
                rule, error = str(denial.details.get("rule", rule)), denial
        await self._note_error([self._unasked(rule)], error)
        return error

    def _unasked(self, rule: str) -> tuple[Target, Decision]:
        """What the query says that the request is about, of which no more is known."""
        team, agent = requests.named(self._request)
        return Target(kind=HOST, team=team, agent=agent), Decision(allow=False, rule=rule, reason="")

    async def _note_error(self, those: Sequence[tuple[Target, Decision]], error: CorralError) -> None:
        await self._note_denial(those, str(answers.failure(error).status_code), {"error": error.code})

    async def _note_denial(
        self, those: Sequence[tuple[Target, Decision]], outcome: str, detail: dict[str, object]
    ) -> None:
        audit = self._around.audit
        if audit is not None:
            who, detail = actor(self._request, self._asking), {**detail, **await self._said()}
            decision = await audit.decided_each(
                who, self._verb, rows(those), allowed=False, outcome=outcome, detail=detail
            )
            self._noted = decision.trace

    async def _said(self) -> dict[str, object]:
        """What a request says that is not served. A body that nobody has read so far is heard for that if it is short
        and soon there, and not from somebody who may do nothing at all.
        """
        if not self._is_read and is_in_body(self._verb):
            with contextlib.suppress(CorralError, ClientDisconnect, TimeoutError):
                await self._asking.settled(self._must_be_somebody)
                async with asyncio.timeout(_DENIED_SECONDS):
                    self._body = await order_of(self._request, self._endpoint, _DENIED_BYTES)
        return said(self._verb, self._request, self._body)

    async def _act(self, audit: Audit, ruling: Ruling, handler: Handler) -> Response:
        """Write it down, and let it be done."""
        while True:
            order = self._body if ruling.about.order is None else ruling.about.order
            detail = said(self._verb, self._request, order)
            decision = await audit.decided_each(ruling.actor, self._verb, ruling.rows, allowed=True, detail=detail)
            # That took time. What was decided about may be another's by now.
            now = await self._ruling()
            if now is ruling or now == ruling:
                break
            await self._refuse(now)
            ruling = now
        self._fix(ruling.about)
        self._request.scope[requests.TRACE] = decision.trace
        try:
            return await told(handler(self._request), Acted(audit, decision, ruling.rows))
        finally:
            await audit.durable(decision)
