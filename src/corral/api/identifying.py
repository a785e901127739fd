"""Before anything else: who asks. Whoever is not believed is refused, audited and journalled, and gets no further."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests
from corral.api.auditing import target
from corral.api.router import Handler
from corral.domain.audit import TCP, UNKNOWN, Actor
from corral.domain.errors import DeniedError, RefusedError, UnauthorisedError
from corral.domain.identity import CLAIMED, NOT_HEARD, PERSON, REFUSED, UNIT, Identity
from corral.domain.records import NOBODY_KNOWN, Who
from corral.service.authority import Authority
from corral.service.callers import Callers
from corral.service.refusals import RULE, Refusal, Refusals, in_general

if TYPE_CHECKING:
    from corral.api.far import FarConnection
    from corral.service.far_callers import FarCallers

#: What is said of refusals of somebody who is refused in very many ways at a time.
_OTHERS = {"why": "for one reason or another, asking for one thing or another"}
#: Where a caller says who it is, and shows its credential.
_AGENT, _CREDENTIAL = b"x-corral-agent", b"x-corral-credential"
#: Where somebody who asks over TCP shows a token.
_AUTHORIZATION = b"authorization"
#: Of what a caller says it is.
_LONGEST_CLAIM = 100
_REMEDY = (
    "an agent asks from within itself, with the credential that CORRAL_CREDENTIAL_FILE names; "
    "a person from outside of agents, with CORRAL_AGENT not set"
)
_UNIT_REMEDY = (
    "ask from a log-in (ssh, or a terminal that one started); have an agent do it, which has a credential; "
    "or have who runs this host set trust_user_units, and read first what that costs"
)
_FAR_REMEDY = "corral token add, run on that host, makes a token; the file that CORRAL_TOKEN_FILE names has it"


class Identifying:
    """Puts it before handlers. Without `callers` whoever says that it is an agent is taken at its word."""

    def __init__(
        self,
        callers: Callers | None,
        refusals: Refusals | None,
        far: FarCallers | None = None,
        authority: Authority | None = None,
    ) -> None:
        """`far` tells who asks over TCP, if anybody can; `authority` knows the members, if there are any."""
        self._callers = callers
        self._refusals = refusals
        self._far = far
        self._authority = authority

    def __call__(self, verb: str, handler: Handler) -> Handler:
        """The handler of that name, for callers that are known."""

        async def identified(request: Request) -> Response:
            if requests.FAR in request.scope["state"]:
                refusal = await self._identify_from_afar(request, verb)
                return await handler(request) if refusal is None else refusal
            identity = await self._identity(request)
            requests.set_identity(request, identity)
            if identity.kind in NOT_HEARD:
                return await self._refusal(request, identity, verb)
            return await handler(request)

        return identified

    def unrouted(self, handler: Handler) -> Handler:
        """The same for what no route fits."""
        return self(UNKNOWN, handler)

    async def _identify_from_afar(self, request: Request, verb: str) -> Response | None:
        """Have it known whose token is shown; the answer to whoever shows none that is good."""
        state = request.scope["state"]
        connection: FarConnection = state[requests.FAR]
        assert self._far is not None  # or nobody could have connected
        claim, credential = _said(request)
        found = self._far.identify(
            requests.header(request, _AUTHORIZATION), claim=claim, shows_credential=bool(credential)
        )
        state[requests.CALLER], state[requests.VIA] = found.who, TCP
        requests.set_identity(request, found.identity)
        if found.token is not None:
            state[requests.VIA] = f"{TCP}:{found.token.id}"
            connection.is_of(found.token)
            return None
        why = f"over TCP, {found.identity.why}"
        kind, remedy = (UnauthorisedError, _FAR_REMEDY) if found.who is NOBODY_KNOWN else (RefusedError, _REMEDY)
        error = kind(f"this was asked {why}", remedy)
        if self._callers is not None:
            self._callers.refused(found.who, Identity(kind=REFUSED, why=why), verb, 0, connection.address)
        answer = answers.failure(error)
        refusal = Refusal(
            who=self._actor(found.who, TCP),
            verb=verb,
            on=target(request),
            outcome=str(answer.status_code),
            detail={"why": found.identity.why},
        )
        return _traced(answer, await self._far.tell_refusal(connection.address, refusal))

    async def _identity(self, request: Request) -> Identity:
        claim, credential = _said(request)
        if self._callers is None:
            return Identity(kind=CLAIMED, agent=claim) if claim else Identity(kind=PERSON)
        return await self._callers.identify(
            requests.kernels_word(request).uid,
            claim=claim,
            credential=credential,
            connection=requests.connection(request),
            peer=requests.peer(request),
        )

    async def _refusal(self, request: Request, identity: Identity, verb: str) -> Response:
        assert self._callers is not None  # without it nobody is refused
        who = requests.kernels_word(request)
        self._callers.refused(who, identity, verb, requests.caller_pid(request))
        answer, trace = answers.failure(_error(identity)), ""
        if self._refusals is not None:
            from corral.api.said import said

            on, detail = target(request), {"why": identity.why, **said(verb, request)}
            refusal = Refusal(who=self._actor(who), verb=verb, on=on, outcome=str(answer.status_code), detail=detail)
            others = in_general(refusal, _OTHERS)
            trace = await self._refusals.tell(refusal, source=who.uid, kind=(verb, on, identity.why), others=others)
        return _traced(answer, trace)

    def _actor(self, who: Who, via: str = "") -> Actor:
        """Who was refused, for the trail: the user, and the member that this is, whatever was said besides."""
        if self._authority is None:
            return Actor(uid=who.uid, user=who.user, via=via)
        known = self._authority.caller(who)
        return Actor(uid=who.uid, user=who.user, member=known.member, role=known.role, via=via)


def _traced(answer: Response, trace: str) -> Response:
    """An answer that says where it is in the trail, if it is there."""
    if not trace:
        return answer
    from corral.api.telling import traced

    return traced(answer, trace)


def _error(identity: Identity) -> RefusedError:
    message = f"this was asked {identity.why}"
    if identity.kind == UNIT:
        return DeniedError(message, _UNIT_REMEDY, rule=RULE)
    return RefusedError(message, _REMEDY)


def _said(request: Request) -> tuple[str, str]:
    """The agent that a caller says it is, and the credential that it shows; empty for none."""
    claim, credential = "", ""
    for name, value in request.scope["headers"]:
        if name == _AGENT:
            claim = value.decode("latin-1")[:_LONGEST_CLAIM]
        elif name == _CREDENTIAL:
            credential = value.decode("latin-1")
    return claim, credential
