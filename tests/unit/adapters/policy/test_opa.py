"""Asking a policy server: whatever it does but answer in time with a decision is a denial that says so."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from corral.adapters.policy import opa
from corral.adapters.policy.opa import OpaPolicy
from corral.domain.policy import Decision
from tests.support.permissions import question

SEND = question("june", "send", "shop/builder")
YES = {"allow": True, "rule": "r", "reason": "because"}
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes, head: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


def result(value: object) -> bytes:
    return answer(json.dumps({"result": value}).encode())


@contextlib.asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[str]:
    held: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        held[task] = writer
        with contextlib.suppress(OSError, EOFError):
            await serve(reader, writer)
        writer.close()

    listening = await asyncio.start_server(hold, "127.0.0.1", 0)
    async with listening:
        yield f"http://ann:s3cr3t@127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    for writer in held.values():
        writer.close()
    await asyncio.gather(*held)
    # Transports close in the next turn of the loop.
    await asyncio.sleep(0)


async def request(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, object]]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
    body: dict[str, object] = json.loads(await reader.readexactly(length))
    return head, body


def decide(sent: bytes | None, seconds: float = 5.0) -> Decision:
    """With None it closes the connection without a word."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(sent or b"")
        await writer.drain()

    async def act() -> Decision:
        async with server(serve) as url:
            policy = OpaPolicy(url, seconds)
            try:
                return await policy.decide(SEND)
            finally:
                await policy.close()

    return asyncio.run(act())


def test_a_decision_is_taken_as_it_is() -> None:
    assert decide(result(YES)).as_json() == YES


def test_an_answer_in_chunks_is_an_answer() -> None:
    body = json.dumps({"result": YES}).encode()
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    assert decide(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks).allow


@pytest.mark.parametrize(
    ("sent", "rule"),
    [
        (None, "no_answer"),
        (b"", "no_answer"),
        (b"hello\r\n\r\n", "no_answer"),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "no_answer"),
        (result(YES).replace(b"200 OK", b"403 No"), "no_answer"),
        (result(YES).replace(b"200 OK", b"302 Go"), "no_answer"),
        (result(YES)[:-4], "no_answer"),
        (answer(b"{}"), "no_answer"),
        (answer(b"null"), "no_answer"),
        (answer(b"true"), "no_answer"),
        (answer(b"{"), "no_answer"),
        (answer(b"\xff"), "no_answer"),
        (answer(b'{"result": ' + b"[" * 100_000), "no_answer"),
        (answer(b" " * (300 << 10)), "no_answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * (300 << 10), "no_answer"),
        (result(True), "no_decision"),
        (result({**YES, "allow": "yes"}), "no_decision"),
        (result({**YES, "allow": 1}), "no_decision"),
        (result({"allow": True}), "no_decision"),
        (result([YES]), "no_decision"),
    ],
)
def test_whatever_is_no_decision_is_a_denial(sent: bytes | None, rule: str) -> None:
    decision = decide(sent)
    assert (decision.allow, decision.rule) == (False, rule)
    assert "denied" in decision.reason
    assert "s3cr3t" not in decision.reason


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", "it answered with the status 500"),
        (b"hello\r\n\r\n", "what it answered is no HTTP"),
        (answer(b"{"), "what it answered is no JSON"),
        (answer(b"[]"), "what it answered is not what an OPA server answers"),
        (None, "it ended the connection"),
    ],
)
def test_what_the_server_did_is_said(sent: bytes | None, said: str) -> None:
    assert decide(sent).reason == f"the policy server gave no answer: {said}; so it is denied"


def test_the_log_has_it_once_that_there_is_no_answer_and_that_there_is_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = True

    async def act() -> None:
        nonlocal sick

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                await request(reader)
                writer.write(answer(b"{") if sick else result(YES))
                await writer.drain()

        async with server(serve) as url:
            policy = OpaPolicy(url)
            for _ in range(3):
                assert not (await policy.decide(SEND)).allow
            sick = False
            monkeypatch.setattr(opa, "_STEADY_SECONDS", 0.0)
            for _ in range(3):
                await policy.decide(SEND)
            await policy.close()

    with caplog.at_level("WARNING", logger="corral.policy"):
        asyncio.run(act())
    first, second = [record.message for record in caplog.records]
    assert first.endswith("gave no answer: what it answered is no JSON: what it is asked is denied")
    assert second.endswith("answers again")
    assert "s3cr3t" not in first + second


def test_nobody_there_is_a_denial() -> None:
    async def act() -> Decision:
        async with server(lambda *_: asyncio.sleep(0)) as url:
            pass
        return await OpaPolicy(url).decide(SEND)

    decision = asyncio.run(act())
    assert (decision.allow, decision.rule) == (False, "no_answer")


def test_a_server_that_says_nothing_is_a_denial_in_time() -> None:
    async def act() -> Decision:
        async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
            await reader.read()

        async with server(silent) as url:
            return await OpaPolicy(url, 0.05).decide(SEND)

    decision = asyncio.run(act())
    assert (decision.allow, decision.rule) == (False, "timed_out")


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one() -> None:
    """The first question gets its answer when nobody waits any more; the second must get its own."""

    async def act() -> tuple[Decision, Decision]:
        late = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while True:
                _, body = await request(reader)
                asked = body["input"]
                assert isinstance(asked, dict)
                if asked["verb"] == "send":
                    await late.wait()
                    writer.write(result(YES))
                else:
                    writer.write(result({**YES, "allow": False}))
                await writer.drain()

        async with server(serve) as url:
            policy = OpaPolicy(url, 0.1)
            first = await policy.decide(SEND)
            late.set()
            second = await policy.decide(question("eve", "health", "host"))
            await policy.close()
            return first, second

    first, second = asyncio.run(act())
    assert (first.rule, second.allow, second.rule) == ("timed_out", False, "r")


def test_the_question_is_the_input_and_connections_are_kept() -> None:
    seen: list[tuple[bytes, dict[str, object]]] = []
    connections = 0

    async def act() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            while True:
                seen.append(await request(reader))
                writer.write(result(YES))
                await writer.drain()

        async with server(serve) as url:
            policy = OpaPolicy(url + "/base")
            for _ in range(3):
                assert (await policy.decide(SEND)).allow
            await policy.close()

    asyncio.run(act())
    assert connections == 1
    head, body = seen[0]
    assert head.startswith(b"POST /base/v1/data/corral/decision?strict-builtin-errors=true HTTP/1.1\r\n")
    assert b"Authorization: Basic " in head
    assert body == {"input": SEND.document()}


def test_a_connection_that_the_server_ended_meanwhile_is_made_anew() -> None:
    async def act() -> list[bool]:
        async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await request(reader)
            writer.write(result(YES))
            await writer.drain()

        async with server(once) as url:
            policy = OpaPolicy(url)
            allowed = [(await policy.decide(SEND)).allow for _ in range(3)]
            await policy.close()
            return allowed

    assert asyncio.run(act()) == [True, True, True]


def test_a_crowd_is_denied_and_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opa, "MOST_WAITING", 2)

    async def act() -> list[Decision]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await request(reader)
            writer.write(result(YES))
            await writer.drain()

        async with server(serve) as url:
            policy = OpaPolicy(url)
            try:
                return await asyncio.gather(*(policy.decide(SEND) for _ in range(5)))
            finally:
                await policy.close()

    assert sorted(one.rule for one in asyncio.run(act())) == ["busy", "busy", "busy", "r", "r"]
