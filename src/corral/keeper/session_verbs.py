"""The verbs of shared terminals; see `ports.sessions.SharedSessions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from corral.ports.sessions import KeysTaken, SeatOrder, SessionOutput, SessionOver, SharedSession

if TYPE_CHECKING:
    from corral.keeper.team import TeamKeeper


class SessionVerbs:
    """Hands each to the sessions of its team."""

    _team: Callable[[str], TeamKeeper]

    async def session_attend(self, team: str, run: str, seat: SeatOrder) -> SessionOver:
        return await self._team(team).sessions.attend(run, seat)

    async def session_read(self, team: str, run: str, seat: str) -> SessionOutput:
        return await self._team(team).sessions.read(run, seat)

    async def session_type(self, team: str, run: str, seat: str, data: bytes) -> KeysTaken:
        return self._team(team).sessions.type(run, seat, data)

    async def session_resize(self, team: str, run: str, seat: str, *, columns: int, rows: int) -> None:
        await self._team(team).sessions.resize(run, seat, columns, rows)

    async def session_leave(self, team: str, run: str, seat: str) -> None:
        self._team(team).sessions.leave(run, seat)

    async def session_steer(self, team: str, run: str, *, action: str, person: str, by: str) -> SharedSession:
        return await self._team(team).sessions.steer(run, action=action, person=person, by=by)

    async def sessions(self, team: str) -> list[SharedSession]:
        return await self._team(team).sessions.listed()
