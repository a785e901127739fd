"""The verbs of recordings; see `ports.casts.Recordings`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.ports.casts import RecordingOrder, RecordingPiece, RecordingShown

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper


class RecordingVerbs:
    """Hands each to the recordings of its team."""

    _team: Callable[[str], TeamKeeper]

    async def record(self, team: str, order: RecordingOrder) -> None:
        self._team(team).record(order)

    async def recordings(self, team: str, agent: str) -> list[RecordingShown]:
        return self._team(team).recordings.listed(agent)

    async def read_recording(self, team: str, agent: str, recording: str, *, after: int) -> RecordingPiece:
        await asyncio.sleep(0)  # between two pieces of a long one everybody else has a turn
        return self._team(team).recordings.read(agent, recording, after)
