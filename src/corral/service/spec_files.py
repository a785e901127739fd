"""Reading the text of a `corral.toml` that somebody sent, which takes seconds if they mean it to.

So it is done beside the event loop, and of each user one text at a time: nobody waits for those of another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

from corral.domain import spec
from corral.domain.spec import TeamSpec

_T = TypeVar("_T")


class SpecFiles:
    """One for all who read such texts."""

    def __init__(self) -> None:
        #: By user, as long as somebody reads or waits.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def team(self, user: str, text: str, file: str) -> TeamSpec:
        """See `domain.spec.parse`. It is `user` who sent it."""
        return await self._in_turn(user, spec.parse, text, file)

    async def name(self, user: str, text: str, file: str) -> str:
        """See `domain.spec.name_in`."""
        return await self._in_turn(user, spec.name_in, text, file)

    async def _in_turn(self, user: str, read: Callable[[str, str], _T], text: str, file: str) -> _T:
        turn = self._turns.setdefault(user, asyncio.Lock())
        async with turn:
            return await asyncio.to_thread(read, text, file)
