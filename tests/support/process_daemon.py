"""A daemon that has nothing but processes: the routes of the process manager on a unix socket, in the test itself.

It really runs commands, keeps their output in memory and knows whose they are; there is no containment, nothing is kept
on disk and nothing is bounded. For tests of clients of these routes.
"""

import base64
import contextlib
import http.server
import json
import os
import re
import secrets
import signal
import socket
import socketserver
import subprocess
import threading
import time
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

Query = dict[str, str]


class NotFoundError(Exception):
    """No such process, or not of that agent."""


class RefusedError(Exception):
    """Not now."""


class OneProcess:
    """A command and what it wrote."""

    def __init__(self, team: str, agent: str, body: dict[str, Any]) -> None:
        self.id = body.get("process_id") or "p" + secrets.token_hex(5)
        self.team, self.agent = team, agent
        self.command = body.get("command") or " ".join(body["argv"])
        self.promoted = self.command.rstrip().endswith("&") and not self.command.rstrip().endswith("&&")
        self.stdin = bool(body.get("stdin"))
        self.output = b""
        self.changed = threading.Condition()
        self.closed = False
        given = body.get("input")
        argv = body.get("argv") or ["bash", "-c", self.command.rstrip().rstrip("&") if self.promoted else self.command]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE if self.stdin or given is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=body.get("workdir"),
            env={**os.environ, **body.get("env", {})},
            start_new_session=True,
        )
        if given is not None:
            assert self.process.stdin is not None
            self.process.stdin.write(given.encode())
            self.process.stdin.close()
        self.reader = threading.Thread(target=self._read, name=f"output of {self.id}")
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 1 << 16):
            with self.changed:
                self.output += data
                self.changed.notify_all()
        self.process.wait()
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        self.process.stdout.close()

    def wait(self, seconds: float, done: Any, gone: threading.Event) -> None:
        """Until `done()`, the time is over, or whoever waits has gone away."""
        until = time.monotonic() + seconds
        with self.changed:
            while not done() and not gone.is_set() and (left := until - time.monotonic()) > 0:
                self.changed.wait(min(left, 0.02))

    @property
    def over(self) -> bool:
        return self.closed and self.process.returncode is not None

    @property
    def state(self) -> dict[str, Any]:
        code = self.process.returncode if self.closed else None
        return {
            "process_id": self.id,
            "running": not self.over,
            "exit_code": code if code is None or code >= 0 else 128 - code,
            "signal": signal.Signals(-code).name if code is not None and code < 0 else None,
            "closed": self.closed,
            "unknown": False,
        }

    @property
    def listed(self) -> dict[str, Any]:
        return {
            **self.state,
            "team": self.team,
            "agent": self.agent,
            "command": self.command,
            "started_at": "2026-11-15T10:40:30.761Z",
            "ended_at": "2026-11-15T10:40:31.761Z" if self.over else None,
            "pids": [] if self.over else [self.process.pid],
            "bytes": len(self.output),
            "tty": False,
            "stdin": self.stdin,
            "trouble": "",
        }

    def page(self, after: int, limit: int) -> dict[str, Any]:
        data = self.output[after : after + limit]
        try:
            return {"output": data.decode(), "next": after + len(data), "omitted_bytes": 0}
        except UnicodeDecodeError:
            text = base64.b64encode(data).decode()
            return {"output": text, "next": after + len(data), "omitted_bytes": 0, "encoding": "base64"}

    def end(self) -> None:
        if not self.over:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.reader.join()
        if self.process.stdin is not None:
            self.process.stdin.close()


class ProcessDaemon:
    """Serves at `path` until the `with` block ends; what it started ends with it, but not by `stop` and `start`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.processes: dict[str, OneProcess] = {}
        #: Waits that were ended because the client had gone away.
        self.abandoned = 0

    def start(self) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        self._server = _Server(self._path, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="process daemon")
        self._thread.start()

    def stop(self) -> None:
        """Go away, like a daemon that was killed; the processes go on."""
        assert self._server is not None
        assert self._thread is not None
        self._server.cut_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        os.unlink(self._path)
        self._server = None

    def __enter__(self) -> "ProcessDaemon":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            process.end()
        if self._server is not None:
            self.stop()

    def answer(self, method: str, path: str, query: Query, body: bytes, gone: threading.Event) -> Any:
        """What a route answers with."""
        team, agent = query.get("team", ""), query.get("agent", "")
        if (method, path) == ("POST", "/v1/exec"):
            return self._execute(team, agent, json.loads(body), gone)
        if (method, path) == ("GET", "/v1/processes"):
            return [one.listed for one in self.processes.values() if (one.team, one.agent) == (team, agent)]
        identity, _, verb = path.removeprefix("/v1/processes/").partition("/")
        process = self.processes.get(identity)
        if process is None or agent not in ("", process.agent):
            raise NotFoundError(f"there is no process {identity}")
        if method == "DELETE":
            if not process.over:
                raise RefusedError(f"{identity} still runs")
            process.end()
            del self.processes[identity]
            return {"process_id": identity, "removed": True}
        return getattr(self, f"_{verb}")(process, query, body, gone)

    def _execute(self, team: str, agent: str, body: dict[str, Any], gone: threading.Event) -> Any:
        process = OneProcess(team, agent, body)
        self.processes[process.id] = process
        background = body.get("background") or process.promoted
        seconds = body.get("timeout")
        if not background:
            self._waited(process, 3600.0 if seconds is None else seconds, lambda: process.over, gone)
        return {
            **process.state,
            **process.page(0, body.get("limit", 1 << 20)),
            "timed_out": not process.over and not background,
            "promoted": process.promoted,
            "survivors": [],
            "team": team,
            "agent": agent,
            "note": "it ended in &, so it runs in the background" if process.promoted else "",
        }

    def _output(self, process: OneProcess, query: Query, _: bytes, gone: threading.Event) -> Any:
        after, limit = int(query.get("after", "0")), int(query.get("limit", str(1 << 20)))
        until = query.get("until")

        def matched() -> bool:
            return until is not None and re.search(until.encode(), process.output[after:]) is not None

        def done() -> bool:
            return process.over or (matched() if until is not None else len(process.output) > after)

        self._waited(process, float(query.get("wait", "0")), done, gone)
        page = {**process.state, **process.page(after, limit)}
        if "filter" in query:
            lines = page["output"].splitlines(keepends=True)
            page["output"] = "".join(line for line in lines if re.search(query["filter"], line))
        return page if until is None else {**page, "matched": matched()}

    def _wait(self, process: OneProcess, query: Query, _: bytes, gone: threading.Event) -> Any:
        self._waited(process, float(query["wait"]), lambda: process.over, gone)
        return process.listed

    def _write(self, process: OneProcess, query: Query, body: bytes, _: threading.Event) -> Any:
        if not process.stdin or process.process.stdin is None or process.process.stdin.closed:
            raise RefusedError(f"{process.id} cannot be written to")
        process.process.stdin.write(body)
        process.process.stdin.flush()
        if query["eof"] == "1":
            process.process.stdin.close()
        return {"process_id": process.id, "bytes": len(body), "eof": query["eof"] == "1"}

    def _signal(self, process: OneProcess, query: Query, _: bytes, __: threading.Event) -> Any:
        os.killpg(process.process.pid, signal.Signals[f"SIG{query['signal']}"])
        return {"process_id": process.id, "signal": f"SIG{query['signal']}", "reached": 1}

    def _kill(self, process: OneProcess, _: Query, __: bytes, gone: threading.Event) -> Any:
        if not process.over:
            os.killpg(process.process.pid, signal.SIGTERM)
        self._waited(process, 10, lambda: process.over, gone)
        return {**process.listed, "left": []}

    def _waited(self, process: OneProcess, seconds: float, done: Any, gone: threading.Event) -> None:
        process.wait(seconds, done, gone)
        if gone.is_set():
            self.abandoned += 1


class _Handler(http.server.BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        gone = threading.Event()
        watch = threading.Thread(target=self._watch, args=(gone,), name="is the client there?")
        watch.start()
        try:
            document, status = self.server.daemon.answer(self.command, parts.path, query, body, gone), 200
        except NotFoundError as error:
            document, status = _error("not_found", str(error), "corral proc ls shows them"), 404
        except RefusedError as error:
            document, status = _error("refused", str(error), "wait for it"), 409
        text = json.dumps(document).encode()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        self.connection.shutdown(socket.SHUT_WR)
        watch.join()

    def _watch(self, gone: threading.Event) -> None:
        with contextlib.suppress(OSError):
            self.connection.recv(1)
        gone.set()

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
        return


class _Server(socketserver.ThreadingUnixStreamServer):
    # Every request is waited for when the server closes.
    daemon_threads = False
    block_on_close = True

    def __init__(self, path: str, daemon: ProcessDaemon) -> None:
        super().__init__(path, _Handler)
        self.daemon = daemon
        self._connections: set[Any] = set()

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def cut_all(self) -> None:
        for connection in list(self._connections):
            connection.shutdown(socket.SHUT_RDWR)


def _error(code: str, message: str, remedy: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "remedy": remedy}}
