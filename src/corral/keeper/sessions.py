"""The people who share the terminals of one team: what each sees, and whose keys are taken.

Each driver has a terminal of the keeper's own; those who watch share one for each size. Whether somebody may type is
decided here, with every key, and nowhere else: a command line or a daemon that forgets to ask changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from corral.background import Background
from corral.domain.errors import CorralError, NotFoundError, WrongUseError
from corral.domain.session_modes import MODES, OBSERVE
from corral.domain.shared_sessions import SEAT_ID, Company, Seat, checked_size, checked_term
from corral.keeper.outlets import Outlet
from corral.keeper.shared_views import View
from corral.ports.sessions import (
    GuestTerminal,
    GuestTerminals,
    KeysTaken,
    SeatOrder,
    SeatShown,
    SessionOutput,
    SessionOver,
    SharedSession,
)

log = logging.getLogger("corral.keeper")

#: Somebody who watches gets a picture of another size so often at most.
_MOVE_SECONDS = 0.25

#: Whoever hears of changes is told the run, who was there, and who is now.
OnChange = Callable[[str, Company, Company], None]


class _Chair:
    """What stands behind a seat: a terminal of its own, or a place before a picture that others see as well."""

    def __init__(self, order: SeatOrder) -> None:
        self.order = order
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.outlet: Outlet | None = None
        self.terminal: GuestTerminal | None = None
        #: Set once there is something to read from, or never will be.
        self.opened = asyncio.Event()
        #: When its picture was last exchanged for one of another size.
        self.moved = float("-inf")

    def end(self, why: str) -> None:
        if not self.over.done():
            self.over.set_result(why)


class _Room:
    """The company at one run's terminal."""

    def __init__(self) -> None:
        self.company = Company()
        self.chairs: dict[str, _Chair] = {}
        self.views: dict[tuple[int, int, str], View] = {}


class TeamSessions:
    """See `ports.sessions.SharedSessions`, for one team."""

    def __init__(
        self, team: str, terminals: GuestTerminals, agent_of: Callable[[str], Awaitable[str]], on_change: OnChange
    ) -> None:
        self._team = team
        self._terminals = terminals
        self._agent_of = agent_of
        self._on_change = on_change
        self._rooms: dict[str, _Room] = {}
        self._closed = False
        self._background = Background()

    async def attend(self, run: str, order: SeatOrder) -> SessionOver:
        """See `SharedSessions.session_attend`."""
        if not SEAT_ID.fullmatch(order.id) or order.mode not in MODES:
            raise WrongUseError(
                f"{order.id!r} with {order.mode!r} is no seat", f"its mode is one of {', '.join(MODES)}"
            )
        room = self._rooms.setdefault(run, _Room())
        if order.id in room.chairs:
            raise WrongUseError(f"the seat {order.id} is taken", "choose another id")
        before = room.company
        seat = Seat(id=order.id, name=order.name, mode=order.mode, since=time.time())
        try:
            room.company = before.with_seat(seat)
            chair = room.chairs[order.id] = _Chair(order)
            try:
                await self._agent_of(run)
                await self._open(run, room, chair)
                chair.opened.set()
                self._changed(run, room, before)
                return SessionOver(why=await chair.over)
            finally:
                self._close(room, chair)
                before, room.company = room.company, room.company.without(order.id)
                self._changed(run, room, before)
        finally:
            if not room.chairs and self._rooms.get(run) is room:
                del self._rooms[run]

    async def read(self, run: str, seat: str) -> SessionOutput:
        """See `SharedSessions.session_read`."""
        while True:
            chair = self._chair(run, seat)
            if chair is None:
                return SessionOutput()
            await chair.opened.wait()
            outlet = chair.outlet
            if outlet is None:
                return SessionOutput()
            data = await outlet.take()
            # One who watches at another size now goes on with another picture.
            if data or outlet is chair.outlet:
                return SessionOutput(data=data)

    def type(self, run: str, seat: str, data: bytes) -> KeysTaken:
        """See `SharedSessions.session_type`."""
        room, chair = self._rooms.get(run), self._chair(run, seat)
        refused = (room.company if room else Company()).why_not_type(seat)
        if not refused and chair is not None and chair.terminal is not None:
            chair.terminal.write(data)
        return KeysTaken(refused=refused)

    async def resize(self, run: str, seat: str, columns: int, rows: int) -> None:
        """See `SharedSessions.session_resize`."""
        room, chair = self._rooms.get(run), self._chair(run, seat)
        if room is None or chair is None or not chair.opened.is_set():
            return
        columns, rows = checked_size(columns, rows)
        if chair.terminal is not None:
            chair.terminal.resize(columns, rows)
            return
        old = chair.order
        order = SeatOrder(id=old.id, name=old.name, mode=old.mode, columns=columns, rows=rows, term=old.term)
        if _size(order) == _size(old):
            return
        # A terminal that is pulled about tells dozens of sizes, and each is a tmux client of its own: whoever watches
        # waits for the next one, and whoever types notices nothing.
        moved, chair.moved = chair.moved, asyncio.get_running_loop().time()
        await asyncio.sleep(moved + _MOVE_SECONDS - chair.moved)
        if self._chair(run, seat) is not chair or chair.order is not old:
            return  # it was left, or somebody was faster
        chair.moved = asyncio.get_running_loop().time()
        # Whoever reads waits for the other picture, and does not take the end of this one for the end of all.
        chair.opened.clear()
        chair.order, chair.outlet = order, None
        self._leave_view(room, old)
        try:
            await self._join_view(run, room, chair)
        except CorralError as error:
            chair.end(error.message)
        finally:
            chair.opened.set()

    def leave(self, run: str, seat: str) -> None:
        """See `SharedSessions.session_leave`."""
        chair = self._chair(run, seat)
        if chair is not None:
            chair.end("left")

    async def steer(self, run: str, *, action: str, person: str, by: str) -> SharedSession:
        """See `SharedSessions.session_steer`."""
        room = self._rooms.get(run)
        if room is None:
            raise NotFoundError("nobody shares that terminal", "corral session ls shows where people are")
        before = room.company
        room.company, gone = before.steered(action, person, by)
        if room.company != before:
            self._changed(run, room, before)
        # Found before anything is waited for: somebody may leave by themselves meanwhile.
        chairs = [room.chairs[seat.id] for seat in gone]
        shown = await self._shown(run, room)
        for chair in chairs:
            chair.end(f"{by} ended the session")
        return shown

    async def listed(self) -> list[SharedSession]:
        """See `SharedSessions.sessions`."""
        return [await self._shown(run, room) for run, room in list(self._rooms.items()) if room.company.seats]

    def close(self) -> None:
        """Let go of every terminal; the programs in them go on."""
        self._closed = True
        self._background.cancel()
        for room in self._rooms.values():
            for chair in list(room.chairs.values()):
                chair.end("the keeper ended")
                self._close(room, chair)

    # Opening and closing

    async def _open(self, run: str, room: _Room, chair: _Chair) -> None:
        if chair.order.mode == OBSERVE:
            await self._join_view(run, room, chair)
            return
        outlet = Outlet(lambda: self._hold(chair, held=True), lambda: self._hold(chair, held=False), drops=False)
        chair.terminal = await self._terminals.open_guest(
            run,
            chair.order,
            read_only=False,
            on_output=outlet.add,
            on_closed=lambda: chair.end("its terminal is gone"),
        )
        chair.outlet = outlet

    @staticmethod
    def _hold(chair: _Chair, *, held: bool) -> None:
        if chair.terminal is not None:
            chair.terminal.hold(held=held)

    async def _join_view(self, run: str, room: _Room, chair: _Chair) -> None:
        view = room.views.setdefault(_size(chair.order), View(chair.order))
        try:
            chair.outlet = await view.join(run, self._terminals, chair.order.id, chair.over)
        finally:
            if view.empty and room.views.get(_size(chair.order)) is view:
                del room.views[_size(chair.order)]

    @staticmethod
    def _leave_view(room: _Room, order: SeatOrder) -> None:
        view = room.views.get(_size(order))
        if view is not None:
            view.leave(order.id)
            if view.empty:
                del room.views[_size(order)]

    def _close(self, room: _Room, chair: _Chair) -> None:
        room.chairs.pop(chair.order.id, None)
        if chair.terminal is not None:
            chair.terminal.close()
        self._leave_view(room, chair.order)
        if chair.outlet is not None:
            chair.outlet.close()
        chair.opened.set()

    def _chair(self, run: str, seat: str) -> _Chair | None:
        room = self._rooms.get(run)
        return room.chairs.get(seat) if room else None

    # Telling

    def _changed(self, run: str, room: _Room, before: Company) -> None:
        self._on_change(run, before, room.company)
        if self._closed:
            return  # whoever goes on at the terminal sees a company that the next keeper brings up to date
        self._background.spawn(self._show(run, room.company.line()), name="show the company")

    async def _show(self, run: str, line: str) -> None:
        try:
            await self._terminals.show_company(run, line)
        except CorralError as error:
            log.info("who is at a terminal cannot be shown there: %s", error.message)

    async def _shown(self, run: str, room: _Room) -> SharedSession:
        company = room.company
        seats = [
            SeatShown(
                id=seat.id,
                name=seat.name,
                mode=seat.mode,
                since=seat.since,
                muted=seat.muted,
                keyboard=seat.id == company.keyboard,
            )
            for seat in company.seats
        ]
        return SharedSession(team=self._team, agent=await self._agent_of(run), run=run, seats=seats)


def _size(order: SeatOrder) -> tuple[int, int, str]:
    return (*checked_size(order.columns, order.rows), checked_term(order.term))
