"""The faces through which a command can be run: each takes the same request and gives the same answer."""

import base64
import http.client
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import urlencode

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from tests.support.instance import Instance

Answer = dict[str, Any]


class RefusedError(Exception):
    """The face said no, with this exit code (MCP has none: then it is 0) and these words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Face(Protocol):
    """What can be asked for agent `a` of team `shop`."""

    name: str

    def exec(self, **request: Any) -> Answer:
        """Run a command; the fields of the request are those of `POST /v1/exec`."""

    def list(self) -> list[Answer]: ...
    def output(self, process: str, **query: Any) -> Answer: ...
    def wait(self, process: str, seconds: float) -> Answer: ...
    def write(self, process: str, data: bytes, *, eof: bool = False) -> Answer: ...
    def signal(self, process: str, name: str) -> Answer: ...
    def kill(self, process: str, grace: float = 5.0) -> Answer: ...
    def remove(self, process: str) -> Answer: ...


class CommandLine:
    """`corral exec` and `corral proc`, with `--json`."""

    name = "cli"

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def exec(self, **request: Any) -> Answer:
        words = ["exec", "shop/a"]
        given = request.pop("input", None)
        for name, value in request.items():
            if name == "env":
                words += [f"--env={variable}={text}" for variable, text in value.items()]
            elif name in ("timeout", "workdir"):
                words += [f"--{name}", str(value)]
            elif name in ("background", "tty", "stdin") and value:
                words.append(f"--{name}")
        if given is not None:
            words.append("--stdin")
        words += ["-c", request["command"]] if "command" in request else ["--", *request["argv"]]
        words.insert(1, "--json")
        done = self._instance.run(*words, check=False, input=given)
        if not done.stdout:
            raise RefusedError(done.returncode, json.loads(done.stderr)["error"]["message"])
        answer: Answer = json.loads(done.stdout)
        started = request.get("background") or answer["promoted"]
        wanted = 124 if answer["timed_out"] else 0 if started else answer["exit_code"]
        assert done.returncode == wanted, "its own exit code is the command's, unless that is not waited for"
        return answer

    def list(self) -> list[Answer]:
        answer: list[Answer] = self._json("ls", "shop/a")
        return answer

    def output(self, process: str, **query: Any) -> Answer:
        return self._json("output", process, *(f"--{name}={value}" for name, value in query.items()))  # type: ignore[no-any-return]

    def wait(self, process: str, seconds: float) -> Answer:
        return self._json("wait", process, f"--timeout={seconds}")  # type: ignore[no-any-return]

    def write(self, process: str, data: bytes, *, eof: bool = False) -> Answer:
        return self._json("write", process, *(["--eof"] if eof else []), "-", given=data)  # type: ignore[no-any-return]

    def signal(self, process: str, name: str) -> Answer:
        return self._json("signal", process, name)  # type: ignore[no-any-return]

    def kill(self, process: str, grace: float = 5.0) -> Answer:
        return self._json("kill", process, f"--grace={grace}s")  # type: ignore[no-any-return]

    def remove(self, process: str) -> Answer:
        answer = self._json("rm", process)
        return answer[0] if isinstance(answer, list) else answer  # type: ignore[no-any-return]

    def _json(self, verb: str, *words: str, given: bytes | None = None) -> Any:
        agent = [] if verb == "ls" else ["--team=shop", "--agent=a"]
        done = self._instance.run("proc", verb, "--json", *agent, *words, check=False, input=given)
        if not done.stdout:
            raise RefusedError(done.returncode, json.loads(done.stderr)["error"]["message"])
        return json.loads(done.stdout)


class Http:
    """The API of the daemon."""

    name = "http"
    _target = urlencode({"team": "shop", "agent": "a"})

    def __init__(self, instance: Instance) -> None:
        self._path = os.path.join(instance.runtime, "daemon.sock")

    def exec(self, **request: Any) -> Answer:
        return self._ask("POST", "/v1/exec", json.dumps(request).encode())  # type: ignore[no-any-return]

    def list(self) -> list[Answer]:
        return self._ask("GET", "/v1/processes")  # type: ignore[no-any-return]

    def output(self, process: str, **query: Any) -> Answer:
        return self._ask("GET", f"/v1/processes/{process}/output", **query)  # type: ignore[no-any-return]

    def wait(self, process: str, seconds: float) -> Answer:
        return self._ask("POST", f"/v1/processes/{process}/wait", wait=seconds)  # type: ignore[no-any-return]

    def write(self, process: str, data: bytes, *, eof: bool = False) -> Answer:
        return self._ask("POST", f"/v1/processes/{process}/write", data, eof=int(eof))  # type: ignore[no-any-return]

    def signal(self, process: str, name: str) -> Answer:
        return self._ask("POST", f"/v1/processes/{process}/signal", signal=name)  # type: ignore[no-any-return]

    def kill(self, process: str, grace: float = 5.0) -> Answer:
        return self._ask("POST", f"/v1/processes/{process}/kill", grace=grace)  # type: ignore[no-any-return]

    def remove(self, process: str) -> Answer:
        return self._ask("DELETE", f"/v1/processes/{process}")  # type: ignore[no-any-return]

    def _ask(self, method: str, path: str, body: bytes | None = None, **query: Any) -> Any:
        connection = _UnixConnection(self._path)
        try:
            connection.request(method, f"{path}?{self._target}&{urlencode(query)}", body)
            answer = connection.getresponse()
            document = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status >= 400:
            error = document["error"]
            codes = {"wrong_use": 2, "not_found": 3, "refused": 4, "unavailable": 6}
            raise RefusedError(codes.get(error["code"], 1), error["message"])
        return document


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("corral", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Mcp:
    """`corral mcp`, as the model of the agent has it."""

    name = "mcp"

    def __init__(self, call: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call = call

    def exec(self, **request: Any) -> Answer:
        return self._call("execute", request)  # type: ignore[no-any-return]

    def list(self) -> list[Answer]:
        return self._call("process_list", {})["processes"]  # type: ignore[no-any-return]

    def output(self, process: str, **query: Any) -> Answer:
        return self._call("process_output", {"process_id": process, **query})  # type: ignore[no-any-return]

    def wait(self, process: str, seconds: float) -> Answer:
        return self._call("process_wait", {"process_id": process, "timeout": seconds})  # type: ignore[no-any-return]

    def write(self, process: str, data: bytes, *, eof: bool = False) -> Answer:
        try:
            given: Answer = {"text": data.decode()}
        except UnicodeDecodeError:
            given = {"base64": base64.b64encode(data).decode()}
        return self._call("process_write", {"process_id": process, "eof": eof, **given})  # type: ignore[no-any-return]

    def signal(self, process: str, name: str) -> Answer:
        return self._call("process_signal", {"process_id": process, "signal": name})  # type: ignore[no-any-return]

    def kill(self, process: str, grace: float = 5.0) -> Answer:
        return self._call("process_kill", {"process_id": process, "grace": grace})  # type: ignore[no-any-return]

    def remove(self, process: str) -> Answer:
        return self._call("process_remove", {"process_id": process})  # type: ignore[no-any-return]


@contextmanager
def mcp_face(instance: Instance) -> Iterator[Mcp]:
    """A server of its own for agent a of team shop, and its client in a thread."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "corral", "mcp", "--team", "shop", "--agent", "a"],
        env=instance.environment(),
    )
    ready = threading.Event()
    calls: dict[str, Any] = {}

    async def serve() -> None:
        async with Client(stdio_client(parameters)) as client:
            calls["client"], calls["token"] = client, anyio.lowlevel.current_token()
            calls["over"] = anyio.Event()
            ready.set()
            await calls["over"].wait()

    thread = threading.Thread(target=anyio.run, args=(serve,))
    thread.start()
    assert ready.wait(30), "the MCP server does not come up"

    def call(tool: str, arguments: dict[str, Any]) -> Any:
        result = anyio.from_thread.run(calls["client"].call_tool, tool, arguments, token=calls["token"])
        if result.is_error:
            raise RefusedError(0, result.content[0].text)
        return result.structured_content

    try:
        yield Mcp(call)
    finally:
        anyio.from_thread.run_sync(calls["over"].set, token=calls["token"])
        thread.join(30)
