"""The verbs of typing; see `ports.typing.TypingSteps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.ports.typing import Typing

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper


class TypingVerbs:
    """Hands each to the typist of its team."""

    _team: Callable[[str], TeamKeeper]

    async def typing_begin(self, team: str, run: str, message: str) -> Typing:
        return await self._team(team).typist.begin(run, message)

    async def typing_paste(self, team: str, run: str, message: str, text: str, *, enter: bool, last: bool) -> Typing:
        return await self._team(team).typist.paste(run, message, text, enter=enter, last=last)

    async def typing_enter(self, team: str, run: str, message: str) -> Typing:
        return await self._team(team).typist.enter(run, message)

    async def typing_proof(self, team: str, run: str, message: str) -> Typing:
        return await self._team(team).typist.proof(run, message)

    async def typing_recall(self, team: str, run: str, message: str, text: str) -> Typing:
        return await self._team(team).typist.recall(run, message, text)
