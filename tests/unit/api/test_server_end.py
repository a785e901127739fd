"""The end of the daemon's server: what is followed then ends in order, and the log has no errors of it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from corral.api.lasting import Flow
from corral.api.server import DaemonServer
from corral.listening import listen


async def followed(scope: Scope, receive: Receive, send: Send) -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b"one\n"
        await asyncio.Event().wait()

    await Flow(lines())(scope, receive, send)


async def attended(scope: Scope, receive: Receive, send: Send) -> None:
    """As whoever is at a terminal: what they say is read while they are shown something."""
    request = Request(scope, receive)

    async def lines() -> AsyncIterator[bytes]:
        yield b"one\n"
        while (await request.receive())["type"] != "http.disconnect":
            pass

    await Flow(lines())(scope, receive, send)


async def waited_for(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("app", [followed, attended, waited_for])
def test_nothing_that_is_cut_is_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture, app: ASGIApp) -> None:
    path = str(tmp_path / "d.sock")

    async def body() -> float:
        begun: asyncio.Semaphore = asyncio.Semaphore(0)

        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            begun.release()
            await app(scope, receive, send)

        server = DaemonServer(noted)
        serving = asyncio.ensure_future(server.serve(sockets=[listen(path)]))
        clients = [await asyncio.open_unix_connection(path) for _ in range(3)]
        for reader, writer in clients:
            writer.write(b"GET / HTTP/1.1\r\nHost: c\r\n\r\n")
            if app is not waited_for:
                await reader.readuntil(b"one\n")
            await begun.acquire()
        at = time.monotonic()
        server.end()
        await serving
        for reader, writer in clients:
            await reader.read()
            writer.close()
        return time.monotonic() - at

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(body()) < 10
    assert [one.getMessage() for one in caplog.records if "ASGI" in one.getMessage()] == []
    assert [one for one in caplog.records if one.exc_info] == []
    if app is not waited_for:
        assert caplog.records == []
