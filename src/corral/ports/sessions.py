"""What the daemon may ask of a keeper so that people share an agent's terminal.

Nobody but the keeper connects to a tmux socket. Whoever joins has a seat; what they see is read from it and what they
type is written to it, and the keeper decides by the mode of the seat whether it is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from corral.ports.record import Record


class SeatOrder(Record, frozen=True):
    """Somebody who joins."""

    #: Of the caller's choice: by it the seat is read, written to and left.
    id: str
    name: str
    #: One of `shared_sessions.MODES`.
    mode: str
    columns: int
    rows: int
    #: What their terminal calls itself.
    term: str = ""


class SeatShown(Record, frozen=True):
    """Somebody who is there."""

    id: str
    name: str
    mode: str
    since: float
    muted: bool = False
    #: The keyboard was handed to this one.
    keyboard: bool = False


class SharedSession(Record, frozen=True):
    """A terminal that people share through the keeper. One that nobody is at is not listed."""

    team: str
    agent: str
    run: str
    seats: list[SeatShown] = msgspec.field(default_factory=list)


class SessionOver(Record, frozen=True):
    """Why a seat is gone, for a person: `left`, or what happened to it."""

    why: str


class SessionOutput(Record, frozen=True):
    """What a seat is to be shown next. Empty: it is over."""

    data: bytes = b""


class KeysTaken(Record, frozen=True):
    """What became of keys."""

    #: Why they were not taken, for a person; empty if they were.
    refused: str = ""


class SharedSessions(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def session_attend(self, team: str, run: str, seat: SeatOrder) -> SessionOver:
        """Join, and stay until it is over: that is the answer. Whoever asked and goes away has left.

        `RefusedError` if there is no room, `NotFoundError` if there is no terminal.
        """

    async def session_read(self, team: str, run: str, seat: str) -> SessionOutput:
        """What is to be shown next at a seat; waits for it."""

    async def session_type(self, team: str, run: str, seat: str, data: bytes) -> KeysTaken:
        """Keys of a seat. What somebody who only watches types is never taken."""

    async def session_resize(self, team: str, run: str, seat: str, *, columns: int, rows: int) -> None:
        """The terminal of a seat has another size now."""

    async def session_leave(self, team: str, run: str, seat: str) -> None:
        """Somebody leaves; nothing happens if they have."""

    async def session_steer(self, team: str, run: str, *, action: str, person: str, by: str) -> SharedSession:
        """Do what a moderator wants (`shared_sessions.ACTIONS`); the session as it is then."""

    async def sessions(self, team: str) -> list[SharedSession]:
        """The terminals of the team that people share now."""


class GuestTerminal(Protocol):
    """A terminal of the keeper's own on which a session is shown, as a person's would."""

    def write(self, data: bytes) -> None:
        """Keys. More than can be taken in a while are dropped: nobody types that much."""

    def resize(self, columns: int, rows: int) -> None:
        """Give it another size."""

    def redraw(self) -> None:
        """Have everything painted anew."""

    def hold(self, *, held: bool) -> None:
        """Read no more of it for now, or go on. What is painted meanwhile is left out, not kept."""

    def close(self) -> None:
        """Leave the session as it is, and let go of the terminal."""


class Picture(Record, frozen=True):
    """What a terminal shows, as output that paints it."""

    columns: int
    rows: int
    data: bytes


class GuestTerminals(Protocol):
    """Shows terminals to others. Part of a runtime that has terminals."""

    async def open_guest(
        self,
        run: str,
        seat: SeatOrder,
        *,
        read_only: bool,
        on_output: Callable[[bytes], None],
        on_closed: Callable[[], None],
    ) -> GuestTerminal:
        """Show the session of a run. With `read_only` its size does not count for the program."""

    async def show_company(self, run: str, line: str) -> None:
        """Show everybody at the terminal of a run who is there; with an empty line, show nothing."""


class Pictures(Protocol):
    """Tells what terminals show. Part of a runtime that has terminals."""

    async def picture(self, run: str) -> Picture:
        """What the terminal of a run shows now. `NotFoundError` if it is gone."""
