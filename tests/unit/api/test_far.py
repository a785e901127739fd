"""Connections over TCP, in a server of our own: when they end, and how many there may be."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from corral.api import far, requests
from corral.api.far import FarDoor
from corral.api.server import DaemonServer
from corral.domain.tokens import Token

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass
class House:
    """A server with a door, and an application that takes every caller for `token` and never ends its answer."""

    token: Token = field(default_factory=lambda: Token(id="t1", user="ann", uid=1, digest=""))
    good: bool = True
    told: list[tuple[str, str]] = field(default_factory=list)

    def is_good(self, id_: str) -> bool:
        assert id_ == self.token.id
        return self.good and (self.token.expires is None or time.time() < self.token.expires)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        connection = scope["state"][requests.FAR]
        assert scope["client"] == ("127.0.0.1", 0), "a port is no pid"
        connection.is_of(self.token)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[FarDoor, int]]:
        server = DaemonServer(self.app)
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setblocking(False)
        door = FarDoor(
            server,
            [listening],
            None,
            is_good=self.is_good,
            refused=lambda *words: self.told.append(words),
            now=time.time,
        )
        server.before_shutdown(door.close)
        door.begin()
        serving = asyncio.create_task(server.serve(sockets=[]))
        try:
            yield door, listening.getsockname()[1]
        finally:
            server.end()
            await serving


async def begun(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST)
    assert b"begun" in await reader.readuntil(b"begun")
    return reader, writer


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait for the other end to hang up."""
    async with asyncio.timeout(20):
        try:
            await reader.read()
        except ConnectionResetError:
            return True
    return True


def test_a_connection_ends_when_a_token_that_was_shown_on_it_is_no_longer_good() -> None:
    async def play() -> None:
        house = House()
        async with house.open() as (door, port):
            reader, writer = await begun(port)
            door.look_through()
            assert not reader.at_eof()
            house.good = False
            door.look_through()
            assert await ended(reader)
            writer.close()

    asyncio.run(play())


@pytest.mark.parametrize("seconds", [-1.0, 0.3])
def test_a_connection_ends_when_its_token_expires(seconds: float) -> None:
    async def play() -> None:
        expires = time.time() + seconds
        house = House(Token(id="t1", user="ann", uid=1, digest="", expires=expires))
        async with house.open() as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            assert await ended(reader)
            assert time.time() >= expires
            writer.close()

    asyncio.run(play())


def test_one_address_has_a_part_of_the_connections_and_gives_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far, "most_connections", lambda: 12)

    async def play() -> None:
        house = House()
        async with house.open() as (door, port):
            three = [await begun(port) for _ in range(3)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await ended(reader)
            writer.close()
            assert house.told == [("over TCP, in vain: there are as many connections as may be", "127.0.0.1")]
            house.good = False
            door.look_through()
            for reader, writer in three:
                assert await ended(reader)
                writer.close()
            house.good = True
            reader, writer = await begun(port)
            writer.close()

    asyncio.run(play())
