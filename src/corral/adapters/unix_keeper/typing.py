"""The calls of typing; see `ports.typing.TypingSteps`."""

from __future__ import annotations

from typing import Any, TypeVar

from corral.ports.typing import Typing

_T = TypeVar("_T")
#: A paste is proved within seconds; a long one into a slow program takes some more.
_LOOK_SECONDS, _STEP_SECONDS = 10.0, 30.0


class TypingCalls:
    """Part of a client, which knows how a call is made."""

    async def _call(self, answer: type[_T], verb: str, seconds: float | None = None, **arguments: Any) -> _T:
        raise NotImplementedError

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
