"""Claims are compared in turns: a little at a time, and of each realm one claim at a time that takes longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from corral.domain.lease_comparing import Comparing

#: After so many pairs of patterns others get their turn.
AT_ONCE = 1000


class Comparisons:
    """Compares what is asked for with what is there, while other requests are answered."""

    def __init__(self, state: Callable[[], object]) -> None:
        """`state` is what claims are compared with. If it is another one meanwhile, all was read again."""
        self._state = state
        #: By realm: who asks for a lot has others wait who ask for a lot of the same files, and nobody else.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def of(self, begin: Callable[[], Comparing]) -> Comparing:
        """What was begun, compared with everything that is there when this returns, unless only the first is wanted.

        `RefusedError` if that is too much for one request.
        """
        state, compared = self._state(), begin()
        if not compared.step(AT_ONCE):
            return compared
        async with self._turns.setdefault(compared.claim.realm, asyncio.Lock()):
            while True:
                await _finish(compared)
                if self._state() is state:
                    return compared
                state, compared = self._state(), begin()


async def _finish(compared: Comparing) -> None:
    is_more = True
    while is_more:
        await asyncio.sleep(0)
        is_more = compared.step(AT_ONCE)
