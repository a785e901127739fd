"""A connection to the host of a team's processes: questions out, answers and news in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any, cast

import msgspec

from corral.adapters.subprocess.host_protocol import PROTOCOL, decode, encode
from corral.domain.errors import CorralError, UnavailableError, from_json
from corral.peer import peer_of

#: A healthy host answers in a millisecond: nothing that it does keeps it from answering. Less than a daemon waits for a
#: keeper, so that it is told what is silent.
ANSWER_SECONDS = 4.0


_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class HostConnection(asyncio.Protocol):
    """A host that was connected to. `on_news` gets all that nobody asked for, in order, the greeting first."""

    def __init__(self, on_news: Callable[[dict[str, Any]], None], on_lost: Callable[[HostConnection], None]) -> None:
        self._on_news = on_news
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._numbers = 0
        self._pending: dict[int, asyncio.Future[None]] = {}
        #: Done once the host has told what it knows.
        self.greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        #: The host.
        self.pid = 0
        #: It was let go, or asked to end: its going is no loss.
        self.dismissed = False
        self.closed = False

    @classmethod
    async def open(
        cls, path: str, on_news: Callable[[dict[str, Any]], None], on_lost: Callable[[HostConnection], None]
    ) -> HostConnection:
        """Connect, and return when the host has told what it knows. Raises `OSError` if nobody listens."""
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_unix_connection(lambda: cls(on_news, on_lost), path)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await connection.greeted
        except TimeoutError:
            connection.close()
            raise _silent(connection.pid, "its greeting") from None
        except BaseException:
            connection.close()
            raise
        return connection

    async def ask(self, do: str, **what: Any) -> None:
        """Ask for something, and return when it is done. Raises what the host says, or `UnavailableError`."""
        self._numbers += 1
        number = self._numbers
        self._pending[number] = answer = asyncio.get_running_loop().create_future()
        try:
            self._send(number, do, what)
            async with asyncio.timeout(ANSWER_SECONDS):
                await answer
        except TimeoutError:
            raise _silent(self.pid, do) from None
        finally:
            del self._pending[number]

    def tell(self, do: str, **what: Any) -> None:
        """Ask for something whose answer nobody needs."""
        self._send(0, do, what)

    async def end(self) -> None:
        """Have the host end, and return when it is gone. Raises `RefusedError` while something runs under it."""
        try:
            ended = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            self.dismissed = True
            try:
                await self.ask("end")
            except BaseException as error:
                # One that is gone has done as it was told.
                if not (self.closed and isinstance(error, UnavailableError)):
                    self.dismissed = False
                    raise
            if not await _readable(ended, ANSWER_SECONDS):
                raise _silent(self.pid, "its end")
        finally:
            os.close(ended)

    def close(self) -> None:
        """Let go of it; the host goes on."""
        self.dismissed = True
        if self._transport is not None:
            self._transport.abort()

    def _send(self, number: int, do: str, what: dict[str, Any]) -> None:
        if self._transport is None or self.closed:
            raise _gone()
        self._transport.write(_written({"n": number, "do": do, **what}))

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By name: that of another loop than asyncio's own is no subclass.
        self._transport = cast(asyncio.Transport, transport)
        self.pid, _ = peer_of(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            message = _read(line)
            if "n" in message:
                self._answered(message)
            else:
                self._on_news(message)
                if "hello" in message:
                    self._hello(message["hello"])

    def connection_lost(self, _: Exception | None) -> None:
        self.closed = True
        if not self.greeted.done():
            # One that is just ending, or was killed a moment ago, still lets one connect.
            self.greeted.set_exception(ConnectionResetError("the host went away before it said anything"))
            self.greeted.exception()  # whoever waited may have given up
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(_gone())
                answer.exception()
        self._on_lost(self)

    def _hello(self, hello: dict[str, Any]) -> None:
        if self.greeted.done():
            return
        if hello["protocol"] == PROTOCOL:
            self.greeted.set_result(None)
        else:
            self.greeted.set_exception(
                UnavailableError(
                    f"the host of the team's processes (pid {self.pid}) is of another version",
                    "take the team down with the version that started it",
                )
            )

    def _answered(self, message: dict[str, Any]) -> None:
        answer = self._pending.get(message["n"])
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(from_json(message["error"]))
        else:
            answer.set_result(None)


def _written(message: dict[str, Any]) -> bytes:
    try:
        return _encode(message) + b"\n"
    except UnicodeEncodeError:  # names of files need be no Unicode
        return encode(message)


def _read(line: bytes) -> dict[str, Any]:
    """The message in a line: in C, but for what only Python has words for (file names that are no UTF-8)."""
    try:
        return _decode(line)
    except msgspec.DecodeError:
        return decode(line)


async def _readable(descriptor: int, seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        async with asyncio.timeout(seconds):
            await readable.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
    return True


def _silent(pid: int, what: str) -> UnavailableError:
    return UnavailableError(
        f"the host of the team's processes (pid {pid}) does not answer; it was asked for {what}",
        "is it stopped (kill -CONT), or the agent paused? its processes run on either way",
    )


def _gone() -> CorralError:
    return UnavailableError(
        "the host of the team's processes went away; what it was asked for may or may not be done",
        "try again: it goes on from what there is",
    )
