"""`corral mcp`: the tools on standard input and output, by the official SDK.

No other module may load the SDK: that takes ten times as long as a whole command.

Standard output belongs to the protocol, and whatever there is to say besides goes to standard error. The server ends
when its input does. What it started goes on: processes belong to the agent.
"""

from __future__ import annotations

import json
import logging
import signal
import sys
import time

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from corral import __version__
from corral.domain.errors import CorralError, NotFoundError
from corral.mcp.calls import Call
from corral.mcp.daemon import Daemon
from corral.mcp.parameters import checked, schema_of
from corral.mcp.terms import in_terms_of_tools
from corral.mcp.texts import INSTRUCTIONS
from corral.mcp.tool import Tool
from corral.mcp.tools import EXECUTE, TOOLS
from corral.places import Places

log = logging.getLogger("corral.mcp")

#: How often a client that asked for it is told that it is still waited for: some give up when they hear nothing.
_PROGRESS_SECONDS = 10.0

Context = ServerRequestContext[dict[str, object], object]


def serve(places: Places, team: str, agent: str) -> int:
    """Serve until standard input ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="corral mcp: %(message)s")
    # Its input is read by a thread that nobody can wake: Ctrl-C has to end the process and not the loop.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, Daemon(places, team, agent))
    except* BrokenPipeError:
        log.warning("the client went away")
    return 0


async def _serve(daemon: Daemon) -> None:
    server = make_server(daemon)
    readable, received = anyio.create_memory_object_stream[SessionMessage | Exception]()
    async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as beside:

        async def relay() -> None:
            """Answer what cannot be read: the SDK would drop it, and the client wait for ever."""
            async with incoming, readable:
                async for item in incoming:
                    answer = answer_to_unreadable(item) if isinstance(item, Exception) else None
                    if answer is None:
                        await readable.send(item)
                    else:
                        await outgoing.send(SessionMessage(answer))

        beside.start_soon(relay)
        await server.run(received, outgoing, server.create_initialization_options())
        beside.cancel_scope.cancel()


def answer_to_unreadable(error: Exception) -> types.JSONRPCError | None:
    """The answer to a line that is no JSON to the SDK; None if not even the id of a request can be read off it.

    A lone surrogate ("\\ud800") is what that is about: half of a character, which a model writes now and then.
    """
    if not isinstance(error, ValidationError):
        return None
    found = error.errors()[0]
    try:
        request = json.loads(found["input"]) if found["type"] == "json_invalid" else None
    except (TypeError, ValueError, RecursionError):
        return None
    asked = request.get("id") if isinstance(request, dict) and "method" in request else None
    if isinstance(asked, bool) or not isinstance(asked, int | str) or not str(asked).isprintable():
        return None
    message = f"the request cannot be read: {found['msg']}; text must not have half of a surrogate pair in it"
    return types.JSONRPCError(jsonrpc="2.0", id=asked, error=types.ErrorData(code=types.PARSE_ERROR, message=message))


def make_server(daemon: Daemon) -> Server[dict[str, object]]:
    """The server for one agent."""
    tools = {tool.name: tool for tool in TOOLS}
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in TOOLS])

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, request: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(request.name)
        if tool is None:
            return _refusal(NotFoundError(f"there is no tool {request.name!r}", f"there are: {', '.join(tools)}"))
        given = request.arguments or {}
        try:
            call = tool.call(checked(tool.name, tool.parameters, given))
            record = _record(await _asked(daemon, call, context), tool)
        except CorralError as error:
            return _refusal(error)
        text = types.TextContent(type="text", text=tool.words(record))
        return types.CallToolResult(content=[text], structured_content=record)

    return Server(
        "corral",
        version=__version__,
        title="Corral",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _asked(daemon: Daemon, call: Call, context: Context) -> object:
    """The daemon's answer; while it is waited for, the client hears that it is."""
    document: object = None
    failure: CorralError | None = None
    async with anyio.create_task_group() as beside:
        if call.wait > _PROGRESS_SECONDS:
            beside.start_soon(_report_progress, context, call.wait)
        try:
            document = await daemon.ask(call)
        except CorralError as error:
            failure = error  # raised in here, it would come out as a group
        beside.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return document


async def _report_progress(context: Context, wait: float) -> None:
    began = time.monotonic()
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        await context.session.report_progress(round(time.monotonic() - began), wait, "still waiting")


def _record(document: object, tool: Tool) -> dict[str, object]:
    """The answer as an object: what a tool answers with must be one."""
    record = document if isinstance(document, dict) else {tool.listed_as: document}
    if isinstance(note := record.get("note"), str):
        record["note"] = in_terms_of_tools(note)
    return record


def _refusal(error: CorralError) -> types.CallToolResult:
    text = f"{error.message}\n{in_terms_of_tools(error.remedy)}" if error.remedy else error.message
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.parameters),
        output_schema=tool.result,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.reads_only,
            open_world_hint=tool is EXECUTE,
        ),
    )
