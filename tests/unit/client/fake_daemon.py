"""A daemon's socket with answers of a test's choice behind it: real connections, real bytes, no daemon."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

Answer = bytes | Iterable[bytes]


class Request:
    """What a client sent."""

    def __init__(self, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, target, self.version = first.split(" ")
        parts = urlsplit(target)
        self.path = parts.path
        self.query = parse_qs(parts.query, keep_blank_values=True)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = body

    def json(self) -> dict[str, object]:
        document = json.loads(self.body)
        assert isinstance(document, dict)
        return document


class FakeDaemon:
    """Listens at `path`, a connection at a time, until the `with` block ends."""

    def __init__(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.requests: list[Request] = []
        self._answers: dict[tuple[str, str], Callable[[Request], Answer]] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(16)
        self._thread = threading.Thread(target=self._serve, name="fake daemon")

    def __enter__(self) -> "FakeDaemon":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def answer(self, method: str, path: str, answer: Answer | Callable[[Request], Answer]) -> None:
        """From now on `path` is answered so: bytes at once, or pieces one after the other."""
        self._answers[method, path] = answer if callable(answer) else lambda _: answer

    @property
    def last(self) -> Request:
        return self.requests[-1]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                try:
                    self._talk(connection)
                except (BrokenPipeError, ConnectionResetError):
                    continue  # a client may leave whenever it likes

    def _talk(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            data = connection.recv(1 << 16)
            if not data:
                return
            received += data
        head, _, body = received.partition(b"\r\n\r\n")
        request = Request(head, b"")
        while len(body) < int(request.headers.get("content-length", "0")):
            body += connection.recv(1 << 16)
        request.body = body
        self.requests.append(request)
        make = self._answers.get((request.method, request.path))
        answer = make(request) if make else refusal(404, "not_found", f"no {request.path}", "")
        for piece in (answer,) if isinstance(answer, bytes) else answer:
            connection.sendall(piece)


def whole(body: bytes, status: int = 200, kind: str = "application/json") -> bytes:
    """An answer with its length, as a plain request gets it."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def document(value: object, status: int = 200) -> bytes:
    """One JSON document."""
    return whole(json.dumps(value).encode(), status)


def refusal(status: int, code: str, message: str, remedy: str) -> bytes:
    """An error of the contract."""
    return document({"error": {"code": code, "message": message, "remedy": remedy}}, status)


def table(*rows: str) -> bytes:
    """The columns that `ps` asks for; blanks between words stand for tabs, `~` for an empty column."""
    lines = ["\t".join("" if word == "~" else word for word in row.split(" ")) for row in rows]
    return whole("".join(line + "\n" for line in lines).encode(), kind="text/tab-separated-values")


def stream(*records: object) -> bytes:
    """A stream of JSON lines that has come to its end."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n"
    return head + b"".join(json.dumps(record).encode() + b"\n" for record in records)
