"""Asking the daemon beside the event loop, for one agent.

Every call is a connection of its own, so a daemon that was started anew is found again by the next one. A call that is
cancelled ends its connection, and with that whatever the daemon waited for in its name.
"""

from __future__ import annotations

import _socket
import json
import math
import threading
from contextlib import suppress
from functools import partial

import anyio
import anyio.to_thread

from corral.client.absence import error_of_absence
from corral.client.answers import raise_refusal
from corral.client.wire import DaemonAbsentError, Response, request, target
from corral.domain.errors import UnavailableError
from corral.mcp.calls import Call
from corral.places import Places

#: Beyond what a call waits for: the daemon may be busy.
_ANSWER_SECONDS = 30.0


class Daemon:
    """The daemon of an instance, as one agent sees it: every call names the agent, so it gets at nobody else's."""

    def __init__(self, places: Places, team: str, agent: str) -> None:
        self._places = places
        self._whose = (("team", team), ("agent", agent))
        # A thread for each call that is under way: a limit would let those that wait for long keep out the others.
        self._threads = anyio.CapacityLimiter(math.inf)

    async def ask(self, call: Call) -> object:
        """The document that answers. Raises a `CorralError` if it is an error, or if none came."""
        hold = _Hold()
        body, headers = _content(call.body)
        ask = partial(
            request,
            self._places,
            call.method,
            target(call.path, (*self._whose, *call.parameters)),
            body,
            headers,
            seconds=call.wait + _ANSWER_SECONDS,
            hold=hold,
        )
        try:
            response = await anyio.to_thread.run_sync(ask, abandon_on_cancel=True, limiter=self._threads)
            raise_refusal(response)
            return _document(response)
        except DaemonAbsentError:
            raise error_of_absence(self._places) from None
        except UnavailableError as error:
            raise _unanswered(call, error) from None
        finally:
            hold.end()


class _Hold:
    """See `client.wire.Hold`. Ends a connection that another thread reads from; that then reads its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: _socket.socket | None = None
        self._ended = False

    def take(self, connection: _socket.socket) -> None:
        with self._lock:
            self._connection = connection
            if self._ended:
                self._shut_down()

    def leave(self) -> None:
        with self._lock:
            self._connection = None

    def end(self) -> None:
        with self._lock:
            self._ended = True
            self._shut_down()

    def _shut_down(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # the other side was quicker
                self._connection.shutdown(_socket.SHUT_RDWR)


def _unanswered(call: Call, error: UnavailableError) -> UnavailableError:
    """The error of a request that was sent: what it asked for may be done all the same."""
    process = call.body.get("process_id") if isinstance(call.body, dict) else None
    if process is None:
        return error
    # Sent again, it might run twice.
    look = f"the command may run all the same, as {process}: process_output tells"
    return UnavailableError(error.message, f"{error.remedy}; {look}")


def _content(body: object) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    if body is None:
        return b"", ()
    if isinstance(body, bytes):
        return body, (("Content-Type", "application/octet-stream"),)
    return json.dumps(body).encode(), (("Content-Type", "application/json"),)


def _document(response: Response) -> object:
    try:
        return json.loads(response.body)
    except ValueError:
        raise UnavailableError(
            "the daemon's answer is not what it should be",
            "is it of another version? corral daemon stop, then corral daemon start",
        ) from None
