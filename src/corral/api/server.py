"""The HTTP server of the daemon, on a unix socket: silent while nothing is asked, and sure of who asks."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from corral.api import answers, requests
from corral.api.body_room import BodyRoom
from corral.api.bounded import BoundedProtocol, most_connections
from corral.api.packets import OnePacket
from corral.domain.errors import WrongUseError
from corral.domain.records import Who
from corral.peer import peer_of, user_name


class _PeerProtocol(BoundedProtocol):
    """Notes whom the kernel says is at the other end, for every request of the connection."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(OnePacket(transport, self.loop))
        connection = transport.get_extra_info("socket")
        pid, uid = peer_of(connection)
        self.client = (str(uid), pid)
        # The name is looked up once: that is a file to read.
        self.app_state = {
            requests.CALLER: Who(user=user_name(uid), uid=uid),
            requests.CONNECTION: connection,
            # Whoever needs to know can tell by this whether a process with that pid is the one that connected.
            requests.CONNECTED: time.clock_gettime(time.CLOCK_BOOTTIME),
        }
        self.admit(uid)


#: Who was hung up on, why, and the pid of who it was when it connected.
Refused = Callable[[Who, str, int], None]


#: So many seconds after its end a server hangs up on those that still have an answer; …
_CUT_SECONDS = 1.0
#: … and after so many it cancels what is done for them, if that did not end by itself.
_CANCEL_SECONDS = 2


class _Outermost:
    """Refuses what cannot take a stream, and has what is cancelled at the end of the server end without a word."""

    def __init__(self, app: ASGIApp, ended: asyncio.Event) -> None:
        self._app = app
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except asyncio.CancelledError:
            # uvicorn would log it as an error of ours. Its task is over either way, and nobody hears the answer.
            if not self._ended.is_set():
                raise

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["http_version"] == "1.0":
            # A stream goes out in chunks, which 1.0 does not know.
            app = answers.failure(WrongUseError("HTTP/1.0 is not spoken here", "use HTTP/1.1"))
        await app(scope, receive, send)


class DaemonServer(uvicorn.Server):
    """uvicorn without its ten ticks a second: it waits for requests and for `end`, and for nothing else."""

    def __init__(self, app: ASGIApp, refused: Refused | None = None) -> None:
        """`refused` hears of those who are hung up on before any handler is asked."""

        class Counted(_PeerProtocol):
            """A connection of this server."""

            def tell(self, why: str) -> None:
                if refused is not None and self.client is not None:
                    refused(self.app_state[requests.CALLER], why, self.client[1])

        self._ended = asyncio.Event()
        self._connected: dict[int, set[BoundedProtocol]] = {}
        Counted.connected, Counted.most_connections = self._connected, most_connections()
        super().__init__(
            uvicorn.Config(
                _Outermost(BodyRoom(app), self._ended),
                http=Counted,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                date_header=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_CANCEL_SECONDS,
            )
        )
        self._before_shutdown: list[Callable[[], None]] = []

    def before_shutdown(self, act: Callable[[], None]) -> None:
        """Have something done when no more connections are to be taken."""
        self._before_shutdown.append(act)

    def end(self) -> None:
        """Stop serving; streams that are still open are cut after a second."""
        self._ended.set()

    def hang_up(self, uid: int, but: socket.socket | None) -> None:
        """End all connections of a user, and all streams with them; not the one, if it is theirs, that asks for it."""
        for connection in list(self._connected.get(uid, ())):
            if connection.app_state[requests.CONNECTION] is not but:
                connection.hang_up()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the daemon's business."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        for act in self._before_shutdown:
            act()
        cut = asyncio.get_running_loop().call_later(_CUT_SECONDS, self._hang_up_on_all)
        try:
            await super().shutdown(sockets)
        finally:
            cut.cancel()

    def _hang_up_on_all(self) -> None:
        """Whatever is followed hears of it as of somebody who leaves, and ends in order."""
        connection: Any  # also those over TCP: each is a BoundedProtocol
        for connection in list(self.server_state.connections):
            connection.hang_up()

    async def main_loop(self) -> None:
        """Wait to be ended."""
        await self._ended.wait()
