"""The calls of shared terminals."""

from __future__ import annotations

from corral.adapters.unix_keeper.calling import Calls
from corral.ports.sessions import KeysTaken, SeatOrder, SessionOutput, SessionOver, SharedSession

_LOOK_SECONDS = 10.0


class SessionCalls(Calls):
    """See `ports.sessions.SharedSessions`."""

    async def session_attend(self, team: str, run: str, seat: SeatOrder) -> SessionOver:
        return await self._call(SessionOver, "session_attend", None, team=team, run=run, seat=seat)

    async def session_read(self, team: str, run: str, seat: str) -> SessionOutput:
        return await self._call(SessionOutput, "session_read", None, team=team, run=run, seat=seat)

    async def session_type(self, team: str, run: str, seat: str, data: bytes) -> KeysTaken:
        return await self._call(KeysTaken, "session_type", _LOOK_SECONDS, team=team, run=run, seat=seat, data=data)

    async def session_resize(self, team: str, run: str, seat: str, *, columns: int, rows: int) -> None:
        await self._call(
            type(None), "session_resize", _LOOK_SECONDS, team=team, run=run, seat=seat, columns=columns, rows=rows
        )

    async def session_leave(self, team: str, run: str, seat: str) -> None:
        await self._call(type(None), "session_leave", _LOOK_SECONDS, team=team, run=run, seat=seat)

    async def session_steer(self, team: str, run: str, *, action: str, person: str, by: str) -> SharedSession:
        return await self._call(
            SharedSession, "session_steer", _LOOK_SECONDS, team=team, run=run, action=action, person=person, by=by
        )

    async def sessions(self, team: str) -> list[SharedSession]:
        return await self._call(list[SharedSession], "sessions", _LOOK_SECONDS, team=team)
