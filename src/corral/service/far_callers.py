"""Who asks over TCP: the person whose token is shown, and nobody else (ADR 29).

An identity is decided for each request, by what is true at that moment. Whoever is refused is in the audit trail and in
the journal; the same from the same address is counted for a while, so that nobody can fill either from afar.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from corral.domain.audit import TCP, Actor
from corral.domain.identity import PERSON, REFUSED, Identity
from corral.domain.records import NOBODY_KNOWN, Who
from corral.domain.tokens import Token
from corral.service.audit import Audit
from corral.service.refusals import Refusal, Refusals, in_general
from corral.service.tokens import Tokens

_BEARER = "bearer "
#: From everywhere together, so many kinds of refusals are told apart; this is said of the others.
_SOURCE, _OTHERS = "tcp", {"why": "for one reason or another", "from": "other addresses"}
_ANYBODY = Actor(uid=NOBODY_KNOWN.uid, user=NOBODY_KNOWN.user, via=TCP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Far:
    """Who asks from afar, and by which token; None if that is not known, and why not is in the identity."""

    who: Who
    identity: Identity
    token: Token | None = None


class FarCallers:
    """Tells who callers over TCP are."""

    def __init__(self, tokens: Tokens, audit: Audit | None) -> None:
        self._tokens = tokens
        self._refusals = None if audit is None else Refusals(audit)

    def identify(self, authorization: str, *, claim: str, shows_credential: bool) -> Far:
        """Who asks. `authorization` is the header of that name; `claim` is the agent that it says it is."""
        if not authorization:
            return _refused("without a token")
        if authorization[: len(_BEARER)].lower() != _BEARER:
            return _refused("with something that is no token")
        found = self._tokens.accepted(authorization[len(_BEARER) :].strip())
        if isinstance(found, str):
            return _refused(found)
        who = Who(user=found.user, uid=found.uid)
        if claim or shows_credential:
            # Nobody can tell from here what the process is that asks, and what it says of itself proves nothing.
            why = f"in the name of the agent {claim}" if claim else "with the credential of an agent"
            return Far(who=who, identity=Identity(kind=REFUSED, why=f"{why}, and over TCP nobody is an agent"))
        return Far(who=who, identity=Identity(kind=PERSON), token=found)

    async def tell_refusal(self, address: str, refusal: Refusal) -> str:
        """Have it in the trail that somebody was refused: the trace id of the entry, or of the first of its
        kind. Raises if the trail cannot be written."""
        if self._refusals is None:
            return ""
        kind = (address, refusal.who, refusal.verb, refusal.on, refusal.detail.get("why"))
        refusal = replace(refusal, detail={**refusal.detail, "from": address})
        others = in_general(replace(refusal, who=_ANYBODY), _OTHERS)
        return await self._refusals.tell(refusal, source=_SOURCE, kind=kind, others=others)

    async def close(self) -> None:
        """Have everything in the trail that was only counted so far."""
        if self._refusals is not None:
            await self._refusals.close()


def _refused(why: str) -> Far:
    return Far(who=NOBODY_KNOWN, identity=Identity(kind=REFUSED, why=why))
