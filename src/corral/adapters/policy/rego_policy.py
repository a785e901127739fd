"""A policy that is decided on this host, by an engine of its own: nothing to set up, and nobody to ask but that."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Hashable

from corral.adapters.policy.asking import MOST_WAITING, crowded, whole
from corral.adapters.policy.engine import Engine, NoAnswerError
from corral.adapters.policy.sources import Sources
from corral.domain.errors import BadPolicyError
from corral.domain.policy import (
    ENTRY_POINT,
    NO_ANSWER,
    PACKAGE,
    TIMED_OUT,
    Decision,
    Question,
    decision_of,
    denied,
)
from corral.domain.policy_settings import DEFAULT_SECONDS

_DECISION = f"{PACKAGE}/{ENTRY_POINT}"
#: So many decisions are remembered, of some 500 bytes each.
_MOST_KNOWN = 4096
#: Of those that rules may use (`builtins`), this alone does not always say the same: what it had to do with is not
#: remembered. However it is written: `time["now_ns"]` is the same.
_MOODY = re.compile(r"\bnow_ns\b")


class RegoPolicy:
    """Decides by a compiled policy. The same question is evaluated once, as long as it is remembered."""

    def __init__(self, sources: Sources, seconds: float = DEFAULT_SECONDS) -> None:
        self._engine = Engine(sources, [_DECISION])
        self._seconds = seconds
        self._remembers = not any(_MOODY.search(module.text) for module in sources.modules)
        #: The oldest first: a dict keeps the order in which keys came.
        self._known: dict[Hashable, Decision] = {}
        self._waiting = 0

    async def start(self) -> None:
        """Have it compiled now, before the first question. Raises BadPolicyError if it is no Rego."""
        await self._engine.start()

    async def decide(self, question: Question) -> Decision:
        """See `ports.policy.Policy`."""
        key = question.key
        known = self._known.get(key)
        if known is not None:
            return known
        document, text = whole(question)
        if isinstance(text, Decision):
            return text
        if self._waiting >= MOST_WAITING:
            return crowded()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds):
                decision = decision_of(await self._engine.ask(document, _DECISION))
        except TimeoutError:
            # It would be in the way of everybody else. Those who wait with it have no answer either.
            await self._engine.give_up()
            return denied(TIMED_OUT, f"the policy came to no answer within {self._seconds:g} s, so it is denied")
        except (NoAnswerError, BadPolicyError) as error:
            return denied(NO_ANSWER, f"the policy failed, so it is denied: {error}")
        finally:
            self._waiting -= 1
        if self._remembers:
            self._remember(key, decision)
        return decision

    def known(self, question: Question) -> Decision | None:
        """See `ports.policy.Policy`."""
        return self._known.get(question.key)

    async def close(self) -> None:
        """See `ports.policy.Policy`."""
        await self._engine.end()

    def _remember(self, key: Hashable, decision: Decision) -> None:
        if len(self._known) >= _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[key] = decision
