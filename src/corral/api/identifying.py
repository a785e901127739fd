"""Before anything else: who asks. Whoever is not believed is refused, audited and journalled, and gets no further."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from corral.api import answers, requests
from corral.api.auditing import UNKNOWN, target
from corral.api.router import Handler
from corral.domain.audit import Actor
from corral.domain.errors import DeniedError, RefusedError
from corral.domain.identity import CLAIMED, NOT_HEARD, PERSON, UNIT, Identity
from corral.service.audit import Audit
from corral.service.callers import Callers

#: The rule of the denials that are made here.
RULE = "identity"
#: Where a caller says who it is, and shows its credential.
_AGENT, _CREDENTIAL = b"x-corral-agent", b"x-corral-credential"
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


class Identifying:
    """Puts it before handlers. Without `callers` whoever says that it is an agent is taken at its word."""

    def __init__(self, callers: Callers | None, audit: Audit | None) -> None:
        self._callers = callers
        self._audit = audit

    def __call__(self, verb: str, handler: Handler) -> Handler:
        """The handler of that name, for callers that are known."""

        async def identified(request: Request) -> Response:
            identity = await self._identity(request)
            requests.set_identity(request, identity)
            if identity.kind in NOT_HEARD:
                await self._refuse(request, identity, verb)
            return await handler(request)

        return identified

    def unrouted(self, handler: Handler) -> Handler:
        """The same for what no route fits."""
        return self(UNKNOWN, handler)

    async def _identity(self, request: Request) -> Identity:
        claim, credential = "", ""
        for name, value in request.scope["headers"]:
            if name == _AGENT:
                claim = value.decode("latin-1")[:_LONGEST_CLAIM]
            elif name == _CREDENTIAL:
                credential = value.decode("latin-1")
        if self._callers is None:
            return Identity(kind=CLAIMED, agent=claim) if claim else Identity(kind=PERSON)
        return await self._callers.identify(
            requests.kernels_word(request).uid,
            claim=claim,
            credential=credential,
            connection=requests.connection(request),
            peer=requests.peer(request),
        )

    async def _refuse(self, request: Request, identity: Identity, verb: str) -> None:
        assert self._callers is not None  # without it nobody is refused
        who = requests.kernels_word(request)
        self._callers.refused(who, identity, verb, requests.caller_pid(request))
        error = _error(identity)
        if self._audit is not None:
            await self._audit.decided(
                Actor(uid=who.uid, user=who.user),
                verb,
                target(request),
                allowed=False,
                rule=RULE,
                outcome=str(answers.failure(error).status_code),
                detail={"why": identity.why},
            )
        raise error


def _error(identity: Identity) -> RefusedError:
    message = f"this was asked {identity.why}"
    if identity.kind == UNIT:
        return DeniedError(message, _UNIT_REMEDY, rule=RULE)
    return RefusedError(message, _REMEDY)
