"""Posting to an address that a person gave: what counts as taken, and that the address is in no error."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from corral.adapters import webhook
from corral.domain.errors import CorralError

SECRET = "s3cr3t"


@contextlib.asynccontextmanager
async def server(answer: bytes | None, got: list[bytes]) -> AsyncIterator[int]:
    """Answers everybody so; with None it closes the connection without a word."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        got.append(head + await reader.readexactly(length))
        writer.write(answer or b"")
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def post(answer: bytes | None, path: str = "/x") -> list[bytes]:
    got: list[bytes] = []

    async def act() -> None:
        async with server(answer, got) as port:
            await webhook.post(f"http://ann:{SECRET}@127.0.0.1:{port}{path}", b'{"entry": 1}')

    asyncio.run(act())
    return got


def test_what_is_posted() -> None:
    (request,) = post(b"HTTP/1.1 204 No Content\r\n\r\n", "/hook/T?k=v")
    assert request.startswith(b"POST /hook/T?k=v HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Content-Type: application/json\r\n" in request
    assert b"Authorization: Basic YW5uOnMzY3IzdA==\r\n" in request
    assert b"ann:" not in request
    assert request.endswith(b'\r\n\r\n{"entry": 1}')


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 500 no\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
        b"SSH-2.0-x 200\r\n",
        b"HTTP/1.1 what\r\n\r\n",
        b"\n",
        b"x" * 100_000,
        None,
    ],
)
def test_what_does_not_count_as_taken(answer: bytes | None) -> None:
    with pytest.raises(CorralError) as error:
        post(answer, f"/{SECRET}")
    told = f"{error.value.message} {error.value.remedy} {error.value.__cause__}"
    assert "127.0.0.1" in told
    assert SECRET not in told


def test_nobody_listens() -> None:
    with pytest.raises(CorralError, match="could not be reached"):
        asyncio.run(webhook.post(f"http://127.0.0.1:1/{SECRET}", b""))


def test_whoever_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_SECONDS", 0.05)

    async def act() -> None:
        async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await forever.wait()
            writer.close()

        forever = asyncio.Event()
        listening = await asyncio.start_server(silent, "127.0.0.1", 0)
        try:
            port = listening.sockets[0].getsockname()[1]
            with pytest.raises(CorralError, match="did not answer within"):
                await webhook.post(f"http://127.0.0.1:{port}/", b"")
        finally:
            forever.set()
            listening.close()

    asyncio.run(act())
