"""One picture for all who watch a terminal at the same size, so that the tenth watcher costs next to nothing.

tmux paints once for all of them, on one terminal of ours. What it painted is handed on a moment later and all at once:
whoever types has seen the echo of a key before any of the watchers is served.
"""

from __future__ import annotations

import asyncio

from corral.domain.errors import CorralError
from corral.keeper.outlets import MOST_WAITING, Outlet
from corral.ports.sessions import GuestTerminal, GuestTerminals, SeatOrder

#: How long what is painted waits for more, in seconds. Nobody sees it who does not type.
_GATHER_SECONDS = 0.05
#: Everything is painted anew at most so often, whoever of the watchers is behind.
_REDRAW_SECONDS = 1.0
#: Before the first picture of somebody who comes later: tmux said this only when the terminal was new.
_PROLOGUE = b"\x1b[?1049h\x1b[H\x1b[2J"
#: Ends whatever sequence was cut off in front of it.
_CANCEL = b"\x18\x1b[m"


class View:
    """The picture of one run at one size. Closed with its last watcher."""

    def __init__(self, seat: SeatOrder) -> None:
        self._seat = seat
        self._terminal: GuestTerminal | None = None
        self._watchers: dict[str, tuple[Outlet, asyncio.Future[str]]] = {}
        self._gathered: list[bytes] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._redraw_timer: asyncio.TimerHandle | None = None
        self._redrawn = float("-inf")
        self._opening = asyncio.Lock()

    @property
    def empty(self) -> bool:
        """True once nobody watches."""
        return not self._watchers

    async def join(self, run: str, terminals: GuestTerminals, seat_id: str, over: asyncio.Future[str]) -> Outlet:
        """Have somebody watch; `over` is told when the picture is gone. What comes is in the outlet."""
        outlet = Outlet(lambda: None, lambda: self._caught_up(outlet), drops=True)
        self._watchers[seat_id] = (outlet, over)
        try:
            async with self._opening:
                if self._terminal is None:
                    self._terminal = await terminals.open_guest(
                        run, self._seat, read_only=True, on_output=self._painted, on_closed=self._closed
                    )
                    if self.empty:
                        self.close()  # whoever it was for left while it was opened
                else:
                    outlet.add(_PROLOGUE)
                    self._redraw()
        except CorralError:
            self.leave(seat_id)
            raise
        return outlet

    def leave(self, seat_id: str) -> None:
        """Somebody watches no more."""
        found = self._watchers.pop(seat_id, None)
        if found is not None:
            found[0].close()
        if self.empty:
            self.close()

    def close(self) -> None:
        """Let go of the terminal."""
        for timer in (self._timer, self._redraw_timer):
            if timer is not None:
                timer.cancel()
        self._timer = self._redraw_timer = None
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None

    def _painted(self, data: bytes) -> None:
        self._gathered.append(data)
        self._size += len(data)
        if self._size >= MOST_WAITING // 2:
            self._hand_on()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._hand_on)

    def _hand_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        data, self._gathered, self._size = b"".join(self._gathered), [], 0
        for outlet, _ in self._watchers.values():
            outlet.add(data)

    def _caught_up(self, outlet: Outlet) -> None:
        """Somebody who could not follow can again, and has missed something."""
        outlet.add(_CANCEL)
        self._redraw()

    def _redraw(self) -> None:
        loop = asyncio.get_running_loop()
        if self._redraw_timer is None:
            wait = max(0.0, self._redrawn + _REDRAW_SECONDS - loop.time())
            self._redraw_timer = loop.call_later(wait, self._redraw_now)

    def _redraw_now(self) -> None:
        self._redraw_timer = None
        self._redrawn = asyncio.get_running_loop().time()
        if self._terminal is not None:
            self._terminal.redraw()

    def _closed(self) -> None:
        self._terminal = None
        self._hand_on()
        for _, over in list(self._watchers.values()):
            if not over.done():
                over.set_result("its terminal is gone")
