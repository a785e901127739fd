"""Refusals of callers, as the audit trail has them: the first of a kind at once, and how many came again since.

Whoever can connect can be refused a thousand times a second, and the trail drops its oldest files by size. So the same
is counted for a while, of so many kinds from one source; what is of more kinds than that is counted together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from corral.background import Background
from corral.domain.audit import UNKNOWN, Actor, Target
from corral.domain.errors import CorralError
from corral.service.audit import Audit

log = logging.getLogger("corral.audit")

#: The rule of these denials.
RULE = "identity"
#: So long refusals of one kind are counted before they are told of again, and of so many kinds at a time.
_COUNTED_SECONDS, _MOST_KINDS = 10.0, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One refusal, as an entry has it."""

    who: Actor
    verb: str
    on: Target
    outcome: str
    detail: Mapping[str, object]


def in_general(refusal: Refusal, detail: Mapping[str, object]) -> Refusal:
    """What is said of refusals of many kinds together, of which this is one: not what was asked, and on what."""
    return replace(refusal, verb=UNKNOWN, on=Target(), detail=detail)


@dataclass(slots=True, kw_only=True)
class _Counted:
    """Refusals of one kind: the first was told of, and how many came since."""

    source: Hashable
    #: What the entry with the count says besides.
    again: Refusal
    more: int = 0
    #: That of the first.
    trace: str = ""


class Refusals:
    """Has them in the trail."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._background = Background()
        #: What was told of a moment ago, by source and kind.
        self._counted: dict[tuple[Hashable, Hashable], _Counted] = {}

    async def tell(self, refusal: Refusal, *, source: Hashable, kind: tuple[object, ...], others: Refusal) -> str:
        """Have it in the trail that somebody was refused; raises if that cannot be written.

        What is beyond so many kinds from one source is counted together, and that count told of as `others`. Returns
        the trace id of the entry, or of the first of its kind where it is only counted; empty until that is written.
        """
        key: tuple[Hashable, Hashable] = (source, kind)
        again = refusal
        if key not in self._counted and self._kinds_of(source) >= _MOST_KINDS:
            key, again = (source, None), others
        known = self._counted.get(key)
        if known is not None:
            known.more += 1
            return known.trace
        counted = self._counted[key] = _Counted(source=source, again=again)
        try:
            counted.trace = await self._note(refusal)
        except BaseException:
            counted.more += 1  # it is told of with the count
            raise
        finally:
            asyncio.get_running_loop().call_later(_COUNTED_SECONDS, self._tell_rest, key)
        return counted.trace

    async def close(self) -> None:
        """Have everything in the trail that was only counted so far. What cannot be written there is in the log."""
        while self._counted:
            _, counted = self._counted.popitem()
            self._begin_telling(counted)
        await self._background.settled()

    def _kinds_of(self, source: Hashable) -> int:
        return sum(counted.source == source for counted in self._counted.values())

    def _tell_rest(self, key: tuple[Hashable, Hashable]) -> None:
        counted = self._counted.pop(key, None)
        if counted is not None:
            self._begin_telling(counted)

    def _begin_telling(self, counted: _Counted) -> None:
        if counted.more:
            self._background.spawn(self._note_count(counted), name="tell of refusals")

    async def _note_count(self, counted: _Counted) -> None:
        try:
            await self._note(counted.again, more=counted.more)
        except CorralError as error:
            who = counted.again.who.user
            log.error("%d refusals of %s are not in the audit trail: %s", counted.more, who, error.message)

    async def _note(self, refusal: Refusal, **more: object) -> str:
        decision = await self._audit.decided(
            refusal.who,
            refusal.verb,
            refusal.on,
            allowed=False,
            rule=RULE,
            outcome=refusal.outcome,
            detail={**refusal.detail, **more},
        )
        return decision.trace
