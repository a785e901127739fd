"""An agent that has nothing but the tools of `corral mcp`: the real server, and the client of the official SDK."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent


class Agent:
    """The tools of one agent, as its model has them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """What a tool answers with; an error fails the test."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        answer = result.structured_content
        assert isinstance(answer, dict)
        return answer

    async def text(self, tool: str, **arguments: object) -> str:
        """The same in words."""
        return text_of(await self.client.call_tool(tool, arguments))

    async def error(self, tool: str, **arguments: object) -> str:
        """The words of a tool that must fail."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, text_of(result)
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    """The words of an answer."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@asynccontextmanager
async def started(
    environment: Mapping[str, str], *words: str, errors: str = os.devnull, mode: str = "auto"
) -> AsyncIterator[Agent]:
    """The agent of a server that is started with this environment; when the block ends the server is gone.

    `errors` is the file for what it says on standard error, `mode` how the client greets it: see `mcp.Client`.
    """
    parameters = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "corral", "mcp", *words], env=dict(environment)
    )
    with open(errors, "a") as said:
        async with Client(stdio_client(parameters, errlog=said), mode=mode) as client:
            yield Agent(client)


def run(test: Callable[[], Awaitable[None]], seconds: float = 60.0) -> None:
    """Run a test that talks to servers, but not for ever."""

    async def limited() -> None:
        with anyio.fail_after(seconds):
            await test()

    anyio.run(limited)
