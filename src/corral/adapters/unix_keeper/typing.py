"""The calls of typing."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.typing import Typing

#: A paste is proved within seconds; a long one into a slow program takes some more.
_LOOK_SECONDS, _STEP_SECONDS = 10.0, 30.0


class TypingCalls(Calls):
    """See `ports.typing.TypingSteps`."""

    async def typing_begin(self, team: str, run: str, message: str) -> Typing:
        return await self._call(Typing, "typing_begin", _LOOK_SECONDS, team=team, run=run, message=message)

    async def typing_paste(self, team: str, run: str, message: str, text: str, *, enter: bool, last: bool) -> Typing:
        return await self._call(
            Typing, "typing_paste", _STEP_SECONDS,
            team=team, run=run, message=message, text=text, enter=enter, last=last,
        )  # fmt: skip

    async def typing_enter(self, team: str, run: str, message: str) -> Typing:
        return await self._call(Typing, "typing_enter", _STEP_SECONDS, team=team, run=run, message=message)

    async def typing_proof(self, team: str, run: str, message: str) -> Typing:
        return await self._call(Typing, "typing_proof", _STEP_SECONDS, team=team, run=run, message=message)

    async def typing_recall(self, team: str, run: str, message: str, text: str) -> Typing:
        return await self._call(Typing, "typing_recall", _LOOK_SECONDS, team=team, run=run, message=message, text=text)
