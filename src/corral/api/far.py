"""HTTP over TCP, from callers of whom nothing is known: who they are, their requests have to show (ADR 29).

Connections are taken here one by one, and counted from the first packet on: one that is in the middle of its TLS
handshake costs as much as any other. What bounds a connection itself is in `bounded`.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn

from corral.api import requests
from corral.api.bounded import BoundedProtocol, most_connections
from corral.api.packets import OnePacket
from corral.background import Background
from corral.domain.listen_settings import shown_address
from corral.domain.records import NOBODY_KNOWN
from corral.domain.tokens import Token

log = logging.getLogger("corral.daemon")
# uvicorn has a line for everything that is no HTTP: nobody is to fill the disk with those from afar.
_quiet = logging.getLogger("corral.tcp")
_quiet.setLevel(logging.ERROR)

#: Seconds for a TLS handshake, and for the goodbye of somebody who is hung up on.
HANDSHAKE_TIME, GOODBYE_TIME = 10.0, 5.0
#: All addresses together have as many connections as one user has by the socket, and one address this part of them.
_SHARE = 4
#: No connection could be taken, mostly because there are no descriptors left: it is tried again after so many seconds.
_RECOVERY_TIME = 1.0
#: Somebody whose machine is gone without a word is missed after so many seconds of silence, and some more tries.
_SILENCE_TIME = 60
#: A token that should have expired is looked at again after so many seconds.
_AGAIN_TIME = 1.0

#: Why somebody was hung up on before asking for anything, and from which address they came.
Refused = Callable[[str, str], None]
#: Whether a token is good now, by its id.
IsGood = Callable[[str], bool]


class FarConnection(BoundedProtocol):
    """A connection over TCP. It ends when a token that was shown on it does."""

    def __init__(self, door: FarDoor, address: str, **more: Any) -> None:
        super().__init__(**more)
        self._door = door
        self.logger = _quiet
        self.address = address
        self.was_made = False
        #: The ids of the tokens that were shown on it, and when the first of them expires.
        self.tokens: set[str] = set()
        self._expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See `asyncio.BaseProtocol`."""
        self.was_made = True
        super().connection_made(OnePacket(transport, self.loop))
        # In the place of a pid, which nobody knows from here.
        self.client = (self.address, 0)
        self.app_state = {requests.FAR: self, requests.CALLER: NOBODY_KNOWN}
        self._door.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._door.open.discard(self)
        self._door.left(self.address)
        if self._expiry is not None:
            self._expiry.cancel()
        super().connection_lost(exc)

    def is_of(self, token: Token) -> None:
        """Take note of a token that was shown, and is good."""
        if token.id in self.tokens:
            return
        self.tokens.add(token.id)
        if token.expires is not None:
            due = self.loop.time() + max(0.0, token.expires - self._door.now())
            if self._expiry is None or due < self._expiry.when():
                if self._expiry is not None:
                    self._expiry.cancel()
                self._expiry = self.loop.call_at(due, self._expire)

    def _expire(self) -> None:
        self._door.look_through()
        # The clock of the wall may have been set meanwhile, or be a little behind: then it is not over yet.
        self._expiry = None if self.transport.is_closing() else self.loop.call_later(_AGAIN_TIME, self._expire)

    def tell(self, why: str) -> None:
        """See `BoundedProtocol.tell`."""
        self._door.refused(f"over TCP, {why}", self.address)

    def hang_up(self) -> None:
        """End it at once, whatever is under way."""
        self.transport.abort()


class FarDoor:
    """Takes the connections of some listening sockets, for a server."""

    def __init__(
        self,
        server: uvicorn.Server,
        sockets: Sequence[socket.socket],
        context: ssl.SSLContext | None,
        *,
        is_good: IsGood,
        refused: Refused,
        now: Callable[[], float],
    ) -> None:
        """Without `context` it is plain HTTP. `refused` hears of those who are hung up on."""
        self._server = server
        self._sockets = sockets
        self._context = context
        self._is_good = is_good
        self.refused = refused
        self.now = now
        self._background = Background()
        self.open: set[FarConnection] = set()
        #: By address, those in the middle of their handshake included.
        self._connected: Counter[str] = Counter()
        self._total = 0
        self._most = most_connections()
        self._most_of_one = self._most // _SHARE
        scheme = "http" if context is None else "https"
        #: As whoever comes writes them.
        self.addresses = [f"{scheme}://{shown_address(*one.getsockname()[:2])}" for one in sockets]

    def begin(self) -> None:
        """Take connections from now on."""
        for listening in self._sockets:
            self._background.spawn(self._take(listening), name="take connections over TCP")

    def close(self) -> None:
        """Take no more. Those that are open are the server's to end."""
        self._background.cancel()
        for listening in self._sockets:
            listening.close()

    def look_through(self) -> None:
        """Hang up on everybody who showed a token that is not good any more."""
        for connection in [*self.open]:
            if not all(map(self._is_good, connection.tokens)):
                connection.hang_up()

    def left(self, address: str) -> None:
        """A connection of that address has ended."""
        self._total -= 1
        self._connected[address] -= 1
        if not self._connected[address]:
            del self._connected[address]

    async def _take(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listening)
            except OSError as error:
                if error.errno != errno.ECONNABORTED:  # whoever it was has gone again
                    log.error("no connection can be taken over TCP: %s", error.strerror)
                    await asyncio.sleep(_RECOVERY_TIME)
                continue
            host = str(address[0])
            if self._connected[host] >= self._most_of_one or self._total >= self._most:
                connection.close()
                self.refused("over TCP, in vain: there are as many connections as may be", host)
                continue
            self._connected[host] += 1
            self._total += 1
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENCE_TIME)
            self._background.spawn(self._welcome(connection, host), name="welcome somebody over TCP")

    async def _welcome(self, connection: socket.socket, host: str) -> None:
        loop, server = asyncio.get_running_loop(), self._server
        times: dict[str, float] = {}
        if self._context is not None:
            times = {"ssl_handshake_timeout": HANDSHAKE_TIME, "ssl_shutdown_timeout": GOODBYE_TIME}
        protocol = FarConnection(
            self, host, config=server.config, server_state=server.server_state, app_state={}, _loop=loop
        )
        try:
            await loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._context, **times)
        except OSError as error:
            self.refused("over TCP, without a TLS handshake that came to its end", host)
            log.debug("no TLS with %s: %s", host, error)
        finally:
            if not protocol.was_made:
                self.left(host)  # or it says so itself, when it ends
