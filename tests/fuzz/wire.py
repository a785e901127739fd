"""How a request of the fuzz reaches the daemon: as it was made up, over the real socket, as whoever this process is."""

import http.client
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: Nothing that is asked for takes longer, on a busy machine either.
_SECONDS = 60.0
#: How long a stream that never ends is listened to.
_LISTENED = 0.25
_ENOUGH = 1 << 20


@dataclass(frozen=True)
class Identity:
    """Somebody who asks: a name for the report, how to connect, and what each request of theirs says of itself."""

    name: str
    connect: Callable[[], socket.socket]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Heard:
    """What came back."""

    status: int
    headers: dict[str, list[str]]
    body: bytes
    seconds: float


def over_socket(path: str) -> Callable[[], socket.socket]:
    """Connects to the unix socket at `path`."""

    def connect() -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_SECONDS)
        connection.connect(path)
        return connection

    return connect


class _Connection(http.client.HTTPConnection):
    """HTTP over whatever `connect` gives."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        super().__init__("corral", timeout=_SECONDS)
        self._connect = connect

    def connect(self) -> None:
        self.sock = self._connect()


def ask(
    identity: Identity, method: str, target: str, headers: dict[str, str], body: bytes | None, *, endless: bool = False
) -> Heard:
    """Ask on a connection of its own, and hear the answer to its end; of an `endless` stream what comes in a moment."""
    connection = _Connection(identity.connect)
    began = time.monotonic()
    try:
        connection.request(method, target, body, {**headers, **identity.headers})
        if endless and connection.sock is not None:
            connection.sock.settimeout(_LISTENED)
        answer = connection.getresponse()
        said = _moment(answer) if endless else answer.read()
    finally:
        connection.close()
    told = {name.lower(): [value] for name, value in answer.getheaders()}
    return Heard(answer.status, told, said, time.monotonic() - began)


def _moment(answer: http.client.HTTPResponse) -> bytes:
    pieces: list[bytes] = []
    try:
        while (piece := answer.read1(65536)) and sum(map(len, pieces)) < _ENOUGH:
            pieces.append(piece)
    except TimeoutError:
        # That is how it ends: it goes on, and was listened to for long enough. Whole lines count.
        return b"".join(pieces).rpartition(b"\n")[0]
    return b"".join(pieces)
