"""The server itself: every request is answered, and in terms of tools."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from pydantic import ValidationError

from corral.domain.errors import RefusedError
from corral.mcp.calls import Call
from corral.mcp.daemon import Daemon
from corral.mcp.server import answer_to_unreadable, make_server
from corral.places import Places

P = "p3f09ac12de"


class OneAnswer(Daemon):
    """A daemon that always says the same."""

    def __init__(self, answer: object) -> None:
        super().__init__(Places.from_environment(), "shop", "a")
        self._answer = answer

    async def ask(self, call: Call) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def called(answer: object, tool: str, **arguments: object) -> types.CallToolResult:
    async def call() -> types.CallToolResult:
        async with Client(make_server(OneAnswer(answer))) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(call)


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def test_a_note_names_tools_and_no_commands() -> None:
    note = f"1 process that it started did not end with it: corral proc kill {P} ends them"
    answer = {
        "process_id": P, "running": False, "exit_code": 0, "signal": None, "timed_out": False, "output": "",
        "omitted_bytes": 0, "promoted": False, "survivors": [], "note": note,
    }  # fmt: skip
    result = called(answer, "execute", command="x")
    said = f"did not end with it: process_kill with process_id={P} ends them"
    assert result.structured_content is not None
    assert said in str(result.structured_content["note"])
    assert said in text_of(result)
    assert "corral" not in text_of(result)


def test_what_helps_after_an_error_does_so_too() -> None:
    result = called(RefusedError(f"{P} still runs", f"corral proc kill {P} ends it"), "process_remove", process_id=P)
    assert (result.is_error, text_of(result)) == (True, f"{P} still runs\nprocess_kill with process_id={P} ends it")


def unreadable(line: str) -> types.JSONRPCError | None:
    with pytest.raises(ValidationError) as caught:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    return answer_to_unreadable(caught.value)


def request(**more: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": {"text": "half \ud800"}, **more})


@pytest.mark.parametrize("number", [7, "seven", 0])
def test_a_request_with_half_a_character_is_answered(number: int | str) -> None:
    answer = unreadable(request(id=number))
    assert answer is not None
    assert (answer.id, answer.error.code) == (number, types.PARSE_ERROR)
    assert "surrogate" in answer.error.message


@pytest.mark.parametrize(
    "line", ["nonsense", "", "[1, 2", request(), request(id=None), request(id="\ud800"), "[" * 9999]
)
def test_what_nobody_waits_for_is_not_answered(line: str) -> None:
    assert unreadable(line) is None


def test_no_error_of_reading_is_no_request() -> None:
    assert answer_to_unreadable(OSError("gone")) is None


def test_over_stdio_the_client_gets_its_answer_and_goes_on(own_directory: Path) -> None:
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(id=2, params={"name": "execute", "arguments": {"command": "echo \ud800"}}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
    ]
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "corral", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=own_directory,
        env={**os.environ, "CORRAL_TEAM": "shop", "CORRAL_AGENT": "a"},
        text=True,
    )
    with server:
        assert server.stdin
        assert server.stdout
        answers = {}
        for line in lines:
            server.stdin.write(line + "\n")
            server.stdin.flush()
            if "id" in json.loads(line):
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = answer
        server.stdin.close()
        assert server.wait(20) == 0
    assert answers[2]["error"]["code"] == types.PARSE_ERROR
    assert answers[3]["result"]["tools"]
