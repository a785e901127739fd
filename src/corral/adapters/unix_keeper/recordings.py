"""The calls of recordings; see `ports.casts.Recordings`."""

from __future__ import annotations

from typing import Any, TypeVar

from corral.ports.casts import RecordingOrder, RecordingPiece, RecordingShown

_T = TypeVar("_T")
_SECONDS = 15.0


class RecordingCalls:
    """Part of a client, which knows how a call is made."""

    async def _call(self, answer: type[_T], verb: str, seconds: float | None = None, **arguments: Any) -> _T:
        raise NotImplementedError

    async def record(self, team: str, order: RecordingOrder) -> None:
        await self._call(type(None), "record", _SECONDS, team=team, order=order)

    async def recordings(self, team: str, agent: str) -> list[RecordingShown]:
        return await self._call(list[RecordingShown], "recordings", _SECONDS, team=team, agent=agent)

    async def read_recording(self, team: str, agent: str, recording: str, *, after: int) -> RecordingPiece:
        return await self._call(
            RecordingPiece, "read_recording", _SECONDS, team=team, agent=agent, recording=recording, after=after
        )
