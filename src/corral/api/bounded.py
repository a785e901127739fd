"""HTTP from callers of whom nothing is known: what one of them may cost the daemon, whatever it sends or does not send.

uvicorn reads a head of any size for any time. Here a head has a size and a time, and a user has so many connections;
who goes beyond hears why and is hung up on, and nobody else notices.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from corral.domain.errors import CorralError, RefusedError, WrongUseError

#: Method, path, query and headers of an honest request have a few hundred bytes, with long paths a few thousand.
MOST_HEAD = 64 * 1024
#: Seconds from the connection, or from the first byte, until the head is there. No machine is that busy.
HEAD_TIME = 30.0
#: No user gets more than this part of the files that the daemon may open, so that there are some for others.
_SHARE = 8
_LEAST_CONNECTIONS, _MOST_CONNECTIONS = 64, 4096
_NOT_IN_TIME, _TOO_LARGE, _TOO_MANY = 408, 431, 429


def most_connections() -> int:
    """How many connections a user may have at once."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_LEAST_CONNECTIONS, min(_MOST_CONNECTIONS, soft // _SHARE))


class BoundedProtocol(HttpToolsProtocol):
    """A connection. Whoever extends it calls `admit` when it knows who is at the other end."""

    #: All connections of a server, by user. Set by whoever makes the server.
    connected: dict[int, set[BoundedProtocol]]
    most_connections: int
    head_time = HEAD_TIME

    _uid: int | None = None
    _in_head = True
    _head_size = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See `asyncio.BaseProtocol`."""
        super().connection_made(transport)
        self._begin_head()

    def admit(self, uid: int) -> None:
        """Count the connection as that user's; one too many is hung up on, and told why."""
        self._uid = uid
        own = self.connected.setdefault(uid, set())
        own.add(self)
        if len(own) > self.most_connections:
            why = f"user {uid} has {self.most_connections} connections, and may have no more"
            self._refuse(_TOO_MANY, RefusedError(why, "close some of them"))

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.BaseProtocol`."""
        self._end_head()
        if self._uid is not None:
            own = self.connected[self._uid]
            own.discard(self)
            if not own:
                del self.connected[self._uid]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self.transport.is_closing():
            return  # it was refused, and nothing more is read
        super().data_received(data)
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > MOST_HEAD:
                why = f"the head of the request has more than {MOST_HEAD} bytes"
                self._refuse(_TOO_LARGE, WrongUseError(why, "send what is long in the body"))

    def on_message_begin(self) -> None:
        """A request begins; the one before may still be answered."""
        self._begin_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there. What the body may take is up to whoever reads it."""
        self._end_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP; uvicorn says so and hangs up."""
        self.tell("with what is no HTTP")
        super().send_400_response(msg)

    def hang_up(self) -> None:
        """End the connection at once. What is being answered finds that nobody hears it any more."""
        self._end_head()
        self.transport.abort()

    def tell(self, why: str) -> None:
        """Hear that nothing was done for this one, before any handler was asked. Whoever extends it may say so."""

    def _begin_head(self) -> None:
        self._end_head()
        self._in_head, self._head_size = True, 0
        self._head_timer = self.loop.call_later(self.head_time, self._too_late)

    def _end_head(self) -> None:
        self._in_head = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_late(self) -> None:
        self._head_timer = None
        if self.flow.read_paused:
            self._begin_head()  # we are the ones who do not read on: the request before is not answered yet
            return
        why = f"no whole request came within {self.head_time:g} seconds"
        self._refuse(_NOT_IN_TIME, WrongUseError(why, "send it at once"))

    def _refuse(self, status: int, error: CorralError) -> None:
        self._end_head()
        self.tell(f"in vain: {error.message}")
        answering: RequestResponseCycle | None = self.cycle  # there is none before the first request
        if answering is not None and not answering.response_complete:
            self.transport.abort()  # in the middle of another answer there is no place for words
            return
        said = msgspec.json.encode({"error": error.as_json()})
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(said)
        self.transport.write(STATUS_LINE[status] + head + said)
        self.transport.close()
