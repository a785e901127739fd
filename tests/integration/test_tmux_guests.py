"""The session in which guests of a terminal are, with a real tmux: it goes with the last of them, and not too early."""

import asyncio
import os
from pathlib import Path

import pytest

from corral.adapters.tmux import guests
from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.adapters.tmux.guest_terminal import PtyGuest
from corral.adapters.tmux.panes import Pane
from corral.background import Background
from corral.ports.runtime import Session
from corral.ports.sessions import SeatOrder

pytestmark = pytest.mark.tmux

PATIENCE = 20.0
SEAT = SeatOrder(id="0123abcd", name="ann", mode="observe", columns=80, rows=24, term="")


class Server:
    """A server with one pane, and guests of it."""

    def __init__(self, base: list[str], client: ControlClient, pane: Pane) -> None:
        self._base = base
        self._client = client
        self._pane = pane
        self.gone: list[str] = []

    async def guest(self, name: str) -> PtyGuest:
        return await guests.open_guest(
            self._client, self._pane, SEAT, self._base, dict(os.environ), Background(),
            team="t", read_only=True, on_output=lambda _: None, on_closed=lambda: self.gone.append(name),
        )  # fmt: skip

    async def prepared(self) -> None:
        """As far as a guest comes before its client is started."""
        await guests._have_room(self._client, self._pane, guests.PREFIX + "a", "t", (80, 24))

    async def clients(self) -> int:
        (there,) = await self._client.try_many([[["list-clients", "-t", f"={guests.PREFIX}a"]]])
        return -1 if isinstance(there, TmuxRefusedError) else len(there[0])

    async def has_clients(self, number: int) -> None:
        """Wait until so many are attached; -1: until there is no session to be attached to."""
        async with asyncio.timeout(PATIENCE):
            while await self.clients() != number:  # noqa: ASYNC110 - tmux tells nobody
                await asyncio.sleep(0.01)


def test_who_comes_as_the_last_one_goes_finds_the_session(own_directory: Path) -> None:
    async def act() -> None:
        base = ["tmux", "-u", "-S", str(own_directory / "tmux.sock"), "-f", "/dev/null"]
        closed = asyncio.Event()
        client = await ControlClient.open(
            [*base, "-C", "new-session", "-s", "hub", "exec cat"],
            dict(os.environ),
            on_output=lambda *_: None,
            on_pause=lambda _: None,
            on_closed=lambda _: closed.set(),
            on_late_answer=lambda: None,
        )
        try:
            where = "#{pane_id} #{window_id} #{session_id} #{pane_pid}"
            ((line,),) = await client.ask(["new-session", "-d", "-s", "a", "-P", "-F", where, "exec cat"])
            pane_id, window, session, pid = line.split(" ")
            pane = Pane(
                pane_id, window, session, False, Session(agent="a", run="r", terminal_pid=int(pid), pid=int(pid))
            )
            server = Server(base, client, pane)
            first = await server.guest("first")
            await server.has_clients(1)
            await server.prepared()
            first.close()
            await server.has_clients(0)
            second = await server.guest("second")
            await server.has_clients(1)
            assert server.gone == []
            second.close()
            await server.has_clients(-1)
        finally:
            await client.try_many([[["kill-server"]]])
            await asyncio.wait_for(closed.wait(), PATIENCE)
            assert client._process is not None
            await asyncio.to_thread(client._process.wait, PATIENCE)

    asyncio.run(act())
