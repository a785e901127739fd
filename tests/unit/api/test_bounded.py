"""What one connection may cost: a head has a size and a time, a body has a time, and a user has so many connections."""

import asyncio
import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from corral.api import requests, server
from corral.api.bounded import MOST_HEAD, BoundedProtocol, most_connections
from tests.unit.api.scene import Scene, play


class Raw:
    """A connection. What was said before the other end hung up is heard, whatever was still on its way there."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)

    async def open(self, scene: Scene) -> "Raw":
        await asyncio.get_running_loop().sock_connect(self._socket, scene.socket)
        return self

    async def send(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # hung up on in the middle of it: what it heard says why
            await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def said(self) -> bytes:
        pieces = []
        with contextlib.suppress(ConnectionResetError):
            while piece := await asyncio.get_running_loop().sock_recv(self._socket, 65536):
                pieces.append(piece)
        self._socket.close()
        return b"".join(pieces)

    async def error(self) -> tuple[int, dict[str, Any]]:
        """The status and the error of an answer after which the connection is closed."""
        head, _, body = (await self.said()).partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), json.loads(body)["error"]


@pytest.mark.parametrize(
    "piece",
    [b"GET /v1/health?" + b"x" * 60_000, b"X-Y: " + b"y" * 60_000, b"X: y\r\n" * 10_000],
    ids=["query", "a header", "headers"],
)
def test_a_head_without_an_end_is_refused_and_read_no_further(piece: bytes, tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        raw = await Raw().open(scene)
        if not piece.startswith(b"GET"):
            await raw.send(b"GET /v1/health HTTP/1.1\r\n")
        await raw.send(piece)
        await raw.send(piece if b":" in piece else piece[15:])
        status, error = await raw.error()
        assert (status, error["code"]) == (431, "wrong_use")
        assert str(MOST_HEAD) in error["message"]
        assert (await scene.ask("GET", "/v1/health")).status == 200

    play(tmp_path, act)


@pytest.mark.parametrize("begun", [b"", b"G", b"GET /v1/health HTTP/1.1\r\nHost: x\r\n"])
def test_whoever_does_not_say_what_it_wants_is_not_waited_for(
    begun: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedProtocol, "head_time", 0.2)

    async def act(scene: Scene) -> None:
        raw = await Raw().open(scene)
        await raw.send(begun)
        status, error = await raw.error()
        assert (status, error["message"]) == (408, "no whole request came within 0.2 seconds")

    play(tmp_path, act)


def test_a_byte_now_and_then_gains_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "head_time", 0.3)

    async def act(scene: Scene) -> None:
        raw = await Raw().open(scene)
        hearing = asyncio.ensure_future(raw.error())
        sent = 0
        for byte in b"GET /v1/health HTTP/1.1\r\nX: " + b"y" * 10_000:
            if hearing.done():
                break
            await raw.send(bytes([byte]))
            sent += 1
            await asyncio.sleep(0.01)
        assert (await hearing)[0] == 408
        assert sent < 10_000

    play(tmp_path, act)


def test_the_time_is_that_of_the_head_and_not_of_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BoundedProtocol, "head_time", 0.1)

    async def act(scene: Scene) -> None:
        reply = await scene.ask("GET", "/v1/kv/changes?team=shop&after=0&wait=0.4")
        assert reply.status == 200

    play(tmp_path, act)


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_TIME", 0.2)

    async def act(scene: Scene) -> None:
        raw = await Raw().open(scene)
        await raw.send(
            b"POST /v1/kv?team=shop HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{"
        )
        status, error = await raw.error()
        assert (status, error["message"]) == (400, "the body of the request did not come within 0.2 seconds")

    play(tmp_path, act)


def test_a_user_has_so_many_connections_and_gets_them_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "most_connections", lambda: 5)

    async def act(scene: Scene) -> None:
        held = [await Raw().open(scene) for _ in range(5)]
        status, error = await (await Raw().open(scene)).error()
        assert (status, error["code"]) == (429, "refused")
        assert "has 5 connections, and may have no more" in error["message"]
        for raw in held:
            await raw.send(b"GET /v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await raw.said()).startswith(b"HTTP/1.1 200")
        for _ in range(20):
            assert (await scene.ask("GET", "/v1/health")).status == 200

    play(tmp_path, act)


def test_the_limit_leaves_files_for_others() -> None:
    assert most_connections() >= 64
