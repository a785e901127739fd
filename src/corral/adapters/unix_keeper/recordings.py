"""The calls of recordings."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.casts import RecordingOrder, RecordingPiece, RecordingShown

_SECONDS = 15.0


class RecordingCalls(Calls):
    """See `ports.casts.Recordings`."""

    async def record(self, team: str, order: RecordingOrder) -> None:
        await self._call(type(None), "record", _SECONDS, team=team, order=order)

    async def recordings(self, team: str, agent: str) -> list[RecordingShown]:
        return await self._call(list[RecordingShown], "recordings", _SECONDS, team=team, agent=agent)

    async def read_recording(self, team: str, agent: str, recording: str, *, after: int) -> RecordingPiece:
        return await self._call(
            RecordingPiece, "read_recording", _SECONDS, team=team, agent=agent, recording=recording, after=after
        )
