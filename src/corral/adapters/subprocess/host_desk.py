"""Where the host takes orders: a socket, one answer for each, and news for everybody.

A client that does not read what it is told is let go: it finds everything as it is when it comes back.
"""

from __future__ import annotations

import binascii
import contextlib
import errno
import os
import select
import socket
import sys
from collections.abc import Callable

from corral.adapters.subprocess.host_child import Child
from corral.adapters.subprocess.host_children import Children
from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_memory import Memory
from corral.adapters.subprocess.host_protocol import LINE_BYTES, PROTOCOL, decode, encode
from corral.domain.errors import CorralError, RefusedError, WrongUseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What may wait to be read by a client, besides what it is greeted with.
_UNREAD_BYTES = 8 << 20
_RECEIVE_BYTES = 1 << 16
#: When there is no descriptor left for one more client, the next look is after so many seconds.
_ACCEPT_SECONDS = 1.0


class Client:
    """A connection."""

    __slots__ = ("_received", "allowance", "connection", "stuck", "unsent")

    def __init__(self, connection: socket.socket, greeting: bytes) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.unsent = bytearray(greeting)
        self.allowance = len(greeting) + _UNREAD_BYTES
        self._received = b""
        #: It did not read all that it was sent.
        self.stuck = False

    def grew(self, child: Child) -> None:
        """Tell it that a process has more output than it knew of."""
        self.unsent += encode({"grew": child.record.process, "end": child.output.end})

    def receive(self) -> list[bytes]:
        """The lines that are complete now. Raises `EOFError` when there will be no more."""
        data = self.connection.recv(_RECEIVE_BYTES)
        if not data or len(self._received) > LINE_BYTES:
            raise EOFError
        *lines, self._received = (self._received + data).split(b"\n")
        return lines

    def send(self) -> bool:
        """Send what it reads now; true if that changed whether something is left."""
        with contextlib.suppress(BlockingIOError):
            del self.unsent[: self.connection.send(self.unsent)]
        was, self.stuck = self.stuck, bool(self.unsent)
        return was != self.stuck


class Desk:
    """The listening socket, and who is connected."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._listening: socket.socket
        self._clients: dict[int, Client] = {}
        self._children: Children
        self._memory: Memory
        self._end: Callable[[], None]

    def open(self, children: Children, memory: Memory, end: Callable[[], None]) -> None:
        """Be ready for orders; `end` is called for the last of them."""
        self._children, self._memory, self._end = children, memory, end

    def listen_on(self, listening: socket.socket) -> None:
        """Take orders from whoever connects here."""
        if hasattr(self, "_listening"):
            self._loop.let_go(self._listening.fileno())
            self._listening.close()
        self._listening = listening
        self._loop.watch(listening.fileno(), select.EPOLLIN, self._accept)

    def tell(self, news: dict[str, Any]) -> None:
        """Tell everybody; it goes out at the end of the turn."""
        line = encode(news)
        for client in self._clients.values():
            client.unsent += line

    def flush(self) -> None:
        """Send what is to be sent, as far as it is read."""
        for client in [client for client in self._clients.values() if client.unsent]:
            try:
                if client.send():
                    self._watch(client)
            except OSError:
                self._leave(client)
            else:
                if len(client.unsent) > client.allowance:
                    self._leave(client)

    def _accept(self, _: int) -> None:
        try:
            connection, _address = self._listening.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._loop.let_go(self._listening.fileno())
                again = lambda: self._loop.watch(self._listening.fileno(), select.EPOLLIN, self._accept)  # noqa: E731
                self._loop.later(_ACCEPT_SECONDS, again)
            return  # or whoever came has gone already
        greeting = encode({"hello": {"protocol": PROTOCOL, "pid": os.getpid()}, "known": self._memory.facts()})
        client = Client(connection, greeting)
        self._clients[connection.fileno()] = client
        self._watch(client)

    def _watch(self, client: Client) -> None:
        events = select.EPOLLIN | (select.EPOLLOUT if client.stuck else 0)
        self._loop.watch(client.connection.fileno(), events, lambda events: self._heard(client, events))

    def _leave(self, client: Client) -> None:
        descriptor = client.connection.fileno()
        del self._clients[descriptor]
        self._loop.let_go(descriptor)
        client.connection.close()
        for child in self._memory.children.values():
            child.waiting.pop(client.grew, None)

    def _heard(self, client: Client, events: int) -> None:
        if not events & ~select.EPOLLOUT:
            return  # it reads again, and what is left goes out at the end of the turn
        try:
            lines = client.receive()
        except BlockingIOError:
            return
        except (OSError, EOFError):
            self._leave(client)
            return
        for line in lines:
            if client.connection.fileno() >= 0:  # it may have been let go for one of them
                self._take(client, line)

    def _take(self, client: Client, line: bytes) -> None:
        try:
            message = decode(line)
            number = message["n"]
        except (ValueError, KeyError):
            self._leave(client)  # whoever says such things is no client of ours
            return

        def answer(error: CorralError | None) -> None:
            client.unsent += encode({"n": number} if error is None else {"n": number, "error": error.as_json()})

        try:
            self._do(client, message, answer)
        except CorralError as error:
            answer(error)
        except Exception as error:
            sys.excepthook(*sys.exc_info())
            answer(CorralError(f"the host of the team's processes made a mistake: {error!r}", "host.log tells more"))

    def _do(self, client: Client, message: dict[str, Any], answer: Callable[[CorralError | None], None]) -> None:
        verb = message["do"]
        if verb == "start":
            self._children.start(message, answer)
            return
        if verb == "answered":
            self._children.answered(message["processes"])
        elif verb == "watch":
            self._children.get(message["process"]).watch(client.grew, message["after"])
        elif verb == "write":
            data = binascii.a2b_base64(message["data"])
            self._children.get(message["process"]).write(data, message["room"], eof=message["eof"])
        elif verb == "resize":
            self._children.get(message["process"]).resize(message["columns"], message["rows"])
        elif verb == "forget":
            self._children.forget(message["processes"])
        elif verb == "end":
            if runs := self._children.what_runs():
                raise RefusedError(f"the host cannot end: {', '.join(runs[:5])} still run", "end them first")
            self._loop.later(0, self._end)  # after this was answered
        else:
            raise WrongUseError(f"the host does not know what {verb!r} is", "is it of another version?")
        answer(None)
