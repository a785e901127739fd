"""A policy that is decided by an OPA server (`policy.url`), by its REST API.

The server has to have the same files: `corral policy show --to DIR` writes them. Whatever it does but answer in time
with a decision is a denial.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from corral import __version__
from corral.adapters.policy.asking import MOST_WAITING, crowded, whole
from corral.adapters.policy.opa_connection import Connection, NotAnAnswerError
from corral.domain.policy import (
    ENTRY_POINT,
    NO_ANSWER,
    PACKAGE,
    TIMED_OUT,
    Decision,
    Question,
    decision_of,
    denied,
)
from corral.domain.policy_settings import DEFAULT_SECONDS

log = logging.getLogger("corral.policy")

#: Connections at once. Those that wait for one wait as long as a decision may take.
_MOST_CONNECTIONS = 8
#: So long it must have answered before it is said to answer again.
_STEADY_SECONDS = 1.0


class OpaPolicy:
    """Asks the server, over connections that are kept."""

    def __init__(self, url: str, seconds: float = DEFAULT_SECONDS) -> None:
        self._parts = urlsplit(url)
        self._seconds = seconds
        self._head = _head(self._parts)
        self._tls: ssl.SSLContext | None = None
        self._idle: list[Connection] = []
        self._room = asyncio.Semaphore(_MOST_CONNECTIONS)
        self._waiting = 0
        #: The log has it that there is no answer; and when there was none last.
        self._is_told = False
        self._failed_at = 0.0

    async def decide(self, question: Question) -> Decision:
        """See `ports.policy.Policy`."""
        text = whole(question)[1]
        if isinstance(text, Decision):
            return text
        if self._waiting >= MOST_WAITING:
            return crowded()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds), self._room:
                decision = _read(await self._ask(b'{"input":' + text + b"}"))
        except TimeoutError:
            why = f"did not answer within {self._seconds:g} s"
            self._note_failure(why)
            return denied(TIMED_OUT, f"the policy server {why}, so it is denied")
        except (OSError, EOFError, ValueError, RecursionError) as error:
            why = f"gave no answer: {_why(error)}"
            self._note_failure(why)
            return denied(NO_ANSWER, f"the policy server {why}; so it is denied")
        finally:
            self._waiting -= 1
        self._note_answer()
        return decision

    def _note_failure(self, why: str) -> None:
        """Have the log say that there is no answer any more, once until there is again."""
        self._failed_at = asyncio.get_running_loop().time()
        if not self._is_told:
            self._is_told = True
            log.error("the policy server at %s %s: what it is asked is denied", self._host, why)

    def _note_answer(self) -> None:
        """Have it say that there is again, if there is for a while: one that cannot decide does not fill the log."""
        if self._is_told and asyncio.get_running_loop().time() - self._failed_at >= _STEADY_SECONDS:
            self._is_told = False
            log.warning("the policy server at %s answers again", self._host)

    @property
    def _host(self) -> str:
        return self._parts.netloc.rpartition("@")[2]

    def known(self, question: Question) -> Decision | None:  # noqa: ARG002 - the port's
        """See `ports.policy.Policy`. The server may have other rules by now."""
        return None

    async def close(self) -> None:
        """See `ports.policy.Policy`."""
        while self._idle:
            self._idle.pop().close()

    async def _ask(self, body: bytes) -> bytes:
        request = self._head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
        if self._idle:
            try:
                return await self._exchange(self._idle.pop(), request)
            except (OSError, EOFError):
                # The server was free to end a connection that rested. To ask twice harms nobody.
                await self.close()
        return await self._exchange(await self._connect(), request)

    async def _exchange(self, connection: Connection, request: bytes) -> bytes:
        try:
            status, body = await connection.exchange(request)
        except BaseException:
            # Also if its time is up: what still comes would be taken for the answer to the next question.
            connection.close()
            raise
        if connection.is_kept:
            self._idle.append(connection)
        else:
            connection.close()
        if status != 200:
            raise NotAnAnswerError(f"it answered with the status {status}")
        return body

    async def _connect(self) -> Connection:
        secure = self._parts.scheme == "https"
        if secure and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        host, port = self._parts.hostname or "", self._parts.port or (443 if secure else 80)
        return Connection(*await asyncio.open_connection(host, port, ssl=self._tls))


def _read(body: bytes) -> Decision:
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        raise NotAnAnswerError("what it answered is no JSON") from None
    if not isinstance(answer, dict):
        raise NotAnAnswerError("what it answered is not what an OPA server answers")
    return decision_of(answer.get("result"))


def _why(error: Exception) -> str:
    """Without what the system made of it: the address may have a password in it."""
    if isinstance(error, NotAnAnswerError):
        return str(error)
    if isinstance(error, EOFError):
        return "it ended the connection"
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__


def _head(parts: SplitResult) -> bytes:
    lines = [
        # Otherwise a rule that forbids is left out when a built-in in it fails.
        f"POST {parts.path.rstrip('/')}/v1/data/{PACKAGE}/{ENTRY_POINT}?strict-builtin-errors=true HTTP/1.1",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        f"User-Agent: corral/{__version__}",
        "Content-Type: application/json",
    ]
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        lines.append(f"Authorization: Basic {base64.b64encode(user.encode()).decode('ascii')}")
    return ("\r\n".join(lines) + "\r\n").encode("ascii")
