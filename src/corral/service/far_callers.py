"""Who asks over TCP: the person whose token is shown, and nobody else (ADR 29).

An identity is decided for each request, by what is true at that moment. Whoever is refused is in the audit trail and in
the journal; the same from the same address is counted for a while, so that nobody can fill either from afar.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from corral.background import Background
from corral.domain.audit import Actor, Target
from corral.domain.identity import PERSON, REFUSED, Identity
from corral.domain.records import NOBODY_KNOWN, Who
from corral.domain.tokens import Token
from corral.service.audit import Audit
from corral.service.tokens import Tokens

_BEARER = "bearer "
#: So long refusals of one kind are counted before they are told of again, and of so many kinds at a time.
_COUNTED_SECONDS, _MOST_KINDS = 10.0, 32
_OTHERS = "other addresses"


@dataclass(frozen=True, slots=True, kw_only=True)
class Far:
    """Who asks from afar, and by which token; None if that is not known, and why not is in the identity."""

    who: Who
    identity: Identity
    token: Token | None = None


@dataclass(slots=True, kw_only=True)
class _Counted:
    """Refusals of one kind: the first was told of, and how many came since."""

    address: str
    why: str
    verb: str
    on: Target
    who: Actor
    outcome: str
    more: int = 0


class FarCallers:
    """Tells who callers over TCP are."""

    def __init__(self, tokens: Tokens, audit: Audit | None) -> None:
        self._tokens = tokens
        self._audit = audit
        self._background = Background()
        #: What came again since it was told of, by address and reason.
        self._again: dict[tuple[str, str], _Counted] = {}

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

    async def tell_refusal(self, address: str, why: str, verb: str, on: Target, who: Actor, outcome: str) -> str:
        """Have it in the trail that somebody was refused: the trace id of the entry, which is empty for one that is
        only counted so far. Raises if the trail cannot be written."""
        if self._audit is None:
            return ""
        key = (address, why)
        if key not in self._again and len(self._again) >= _MOST_KINDS:
            key = (_OTHERS, why)
        counted = self._again.get(key)
        if counted is not None:
            counted.more += 1
            return ""
        counted = self._again[key] = _Counted(address=key[0], why=why, verb=verb, on=on, who=who, outcome=outcome)
        asyncio.get_running_loop().call_later(_COUNTED_SECONDS, self._tell_rest, key)
        return await self._note(counted)

    async def close(self) -> None:
        """Have everything in the trail that was only counted so far."""
        while self._again:
            _, counted = self._again.popitem()
            if counted.more:
                await self._note(counted)

    def _tell_rest(self, key: tuple[str, str]) -> None:
        counted = self._again.pop(key, None)
        if counted is not None and counted.more:
            self._background.spawn(self._note(counted), name="tell of refusals over TCP")

    async def _note(self, counted: _Counted) -> str:
        assert self._audit is not None
        more = {"more": counted.more} if counted.more else {}
        noted = await self._audit.decided(
            counted.who,
            counted.verb,
            counted.on,
            allowed=False,
            rule="identity",
            outcome=counted.outcome,
            detail={"why": counted.why, "from": counted.address, **more},
        )
        return noted.trace


def _refused(why: str) -> Far:
    return Far(who=NOBODY_KNOWN, identity=Identity(kind=REFUSED, why=why))
