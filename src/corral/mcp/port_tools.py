"""The tool of `corral port get`, as it is told to a model."""

from __future__ import annotations

from corral.mcp.calls import Arguments, Call
from corral.mcp.parameters import TEXT, Parameter
from corral.mcp.telling import field, record, told
from corral.mcp.tool import Tool
from corral.mcp.words import Record

_DESCRIPTION = told("""
Get a TCP port that is yours alone. Use this instead of guessing a port such as 3000 or 8080 whenever you start
something that listens: a development server, a database, a debugger. Other agents work on this machine too, and two of
them on one port is why a server does not start, or why you test somebody else's.

Ask once for each thing that listens, with a name of your choice (web, api, db). The same name always gives the same
number, also after a restart, so there is no need to remember it. Without a name it is the port that your environment
has as PORT. You have a block of some ten ports; when it is full, the answer says which names have one.

Then give the number to what you start, such as `npm run dev -- --port NUMBER`, and bind to 127.0.0.1 unless somebody
asked for more.
""")

_RESULT = record(
    {
        "port": field("integer", "the number of the port"),
        "name": field(["string", "null"], "the name that it was asked for by; null without one"),
        "agent": field("string", "the agent that has it: you"),
        "team": field("string", "the team of the agent"),
    }
)


def port_get(arguments: Arguments) -> Call:
    """`corral port get`"""
    name = arguments.get("name")
    return Call(method="POST", path="/v1/ports", parameters=(("name", str(name)),) if name else ())


def port_words(answer: Record) -> str:
    """The answer of `port_get`."""
    name = answer.get("name")
    return f"port {answer.get('port')} is yours" + (f", as {name}" if name else ": your PORT")


PORT_GET = Tool(
    name="port_get",
    cli="port get",
    title="Get a port",
    description=_DESCRIPTION,
    parameters=(
        Parameter(
            name="name",
            kind=TEXT,
            about="What the port is for, such as web or api: lower-case letters, digits and dashes. Without it, the "
            "port that you have as PORT.",
        ),
    ),
    result=_RESULT,
    call=port_get,
    words=port_words,
)
