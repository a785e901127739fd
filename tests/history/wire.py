"""A client's way to the daemon: plain HTTP over the real socket, and an honest word about what came of each request."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from tests.history.record import FAIL, OK, UNKNOWN, Recorder

_SECONDS, _PATIENCE = 20.0, 2.0
_BETWEEN_TRIES = 0.02


class TimeIsUpError(Exception):
    """The time of this client is over."""


class Wire:
    """Asks in the name of one agent, one request at a time, and writes down what it asks and is told."""

    def __init__(self, path: str, recorder: Recorder, agent: str, until: float) -> None:
        self._path = path
        self._recorder = recorder
        self._agent = agent
        self._until = until
        self._connection: http.client.HTTPConnection | None = None

    def do(
        self, what: str, method: str, target: str, asked: dict[str, Any], body: object = None, **query: object
    ) -> tuple[str, Any]:
        """The outcome of an operation, and what was told. It begins when there is a daemon; or `TimeIsUpError`."""
        connection = self._connected()
        number = self._recorder.begin(what, asked)
        outcome, told = self._exchange(connection, method, target, body, query)
        self._recorder.end(number, outcome, told)
        return outcome, told

    def follow(self, what: str, target: str, asked: dict[str, Any], **query: object) -> Iterator[Any]:
        """The lines of a stream, each an operation of its own, until it breaks off or time is up."""
        connection = self._connected()
        # A reader to whom nothing comes asks anew, from where it was.
        connection.sock.settimeout(_PATIENCE)
        try:
            connection.request("GET", self._target(target, query), headers=self._headers())
            answer = connection.getresponse()
            while line := answer.readline():
                told = json.loads(line)
                self._recorder.end(self._recorder.begin(what, asked), OK, told)
                yield told
                self._check_time()
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return  # broken off in the middle: the next one goes on from what was seen
        finally:
            self._drop()

    def _exchange(
        self, connection: http.client.HTTPConnection, method: str, target: str, body: object, query: dict[str, object]
    ) -> tuple[str, Any]:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, self._target(target, query), content, self._headers())
            answer = connection.getresponse()
            told = json.loads(answer.read())
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            self._drop()
            return UNKNOWN, None
        if answer.status == 200:
            return OK, told
        return (FAIL if answer.status < 500 else UNKNOWN), told["error"]

    def _headers(self) -> dict[str, str]:
        return {"X-Corral-Agent": f"shop/{self._agent}"}

    def _target(self, target: str, query: dict[str, object]) -> str:
        return f"{target}?{urlencode({'team': 'shop', 'agent': self._agent, **query})}"

    def _connected(self) -> http.client.HTTPConnection:
        self._check_time()
        while self._connection is None:
            raw = socket.socket(socket.AF_UNIX)
            raw.settimeout(_SECONDS)
            try:
                raw.connect(self._path)
            except OSError:
                raw.close()
                time.sleep(_BETWEEN_TRIES)
                self._check_time()
                continue
            self._connection = http.client.HTTPConnection("corral")
            self._connection.sock = raw
            self._connection.auto_open = 0  # one that broke off is told, not mended
        return self._connection

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            self._drop()
            raise TimeIsUpError

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None
