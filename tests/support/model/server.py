"""The scripted model, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.support.model import anthropic, chat, responses
from tests.support.model.script import Held, Refuse, Script

_DIALECTS = {dialect.PATH: dialect for dialect in (anthropic, chat, responses)}
#: A turn of a coding agent with all its tools described is some 100 kB.
_LARGEST = 8 << 20
#: A test that never lets go of a turn shall end all the same.
_LONGEST_HOLD = 300.0


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """The address to give to an agent, such as `http://127.0.0.1:40123`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    numbers = count(1)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            path = self.path.partition("?")[0]
            dialect = _DIALECTS.get(path)
            length = int(self.headers.get("content-length") or 0)
            if length > _LARGEST:
                self.send_error(413)
                return
            text = self.rfile.read(length)
            if dialect is None:
                # Whatever else an agent tells its maker (what it counted, whether it is current) is nobody's business.
                self._send_json({"input_tokens": 10} if path.endswith("/count_tokens") else {})
                return
            body = json.loads(text)
            with lock:
                number, turn = next(numbers), script.next_turn(replace(dialect.read(body), whole=text.decode()))
            if isinstance(turn, Refuse):
                error = {"type": "rate_limit_error" if turn.status == 429 else "api_error", "message": turn.message}
                self._send_json({"type": "error", "error": error}, turn.status)
                return
            if isinstance(turn, Held):
                turn.until.wait(_LONGEST_HOLD)
                turn = turn.turn
            if body.get("stream"):
                self._send_events(dialect.stream(turn, body, number))
            else:
                self._send_json(dialect.answer(turn, body, number))

        def do_GET(self) -> None:
            if self.path.partition("?")[0].endswith("/models"):
                self._send_json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})
            else:
                self.send_error(404)

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def _send_json(self, answer: dict[str, Any], status: int = 200) -> None:
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _send_events(self, events: Iterator[tuple[str, dict[str, Any]]]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for name, data in events:
                self.wfile.write(
                    (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()
                )
            self.wfile.write(b"data: [DONE]\n\n" if self.path.endswith("/completions") else b"")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
