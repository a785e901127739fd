"""The tools of `corral port`, as they are told to a model."""

from __future__ import annotations

from corral.mcp.calls import Arguments, Call
from corral.mcp.parameters import TEXT, Parameter
from corral.mcp.telling import field, listing, record, told
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


def port_list(_: Arguments) -> Call:
    """`corral port ls`"""
    return Call(method="GET", path="/v1/ports")


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


def list_words(answer: Record) -> str:
    """The answer of `port_list`."""
    found = answer.get("ports")
    return "\n".join(_row(one) for one in found) if isinstance(found, list) and found else "you have no ports"


def _row(one: Record) -> str:
    name = f" ({one.get('name')})" if one.get("name") else ""
    if not one.get("listening"):
        return f"{one.get('port')}{name}: yours, and nobody listens"
    which = f", pid {one.get('pid')}: {one.get('command')}" if one.get("pid") is not None else ""
    if not one.get("agent"):
        return f"{one.get('port')}{name}: somebody else listens{which}"
    return f"{one.get('port')}{name}: you listen{'' if one.get('leased') else ', on a port that is not yours'}{which}"


PORT_LIST = Tool(
    name="port_list",
    cli="port ls",
    title="See who listens on your ports",
    description=told("""
List your ports: those that you have a name for, and every TCP port that one of your processes listens on, with its
process. Look here when a server does not answer, when a port is said to be in use, or to find something that you
started and forgot. A port that you listen on without having asked port_get for it is marked: another agent may get it.
"""),
    parameters=(),
    result=record(
        {
            "ports": listing(
                record(
                    {
                        "port": field("integer", "the number of the port"),
                        "team": field(["string", "null"], "the team of the agent; null with `agent`"),
                        "agent": field(["string", "null"], "whose it is: you; null if somebody else listens on it"),
                        "name": field(["string", "null"], "the name that it was asked for by; null without one"),
                        "listening": field("boolean", "somebody listens on it"),
                        "pid": field(["integer", "null"], "of who listens; null if nobody does, or it cannot be seen"),
                        "command": field("string", "what that process is"),
                        "leased": field("boolean", "it is one of your own block"),
                    }
                ),
                "the ports, in their order",
            )
        }
    ),
    call=port_list,
    words=list_words,
    listed_as="ports",
    reads_only=True,
)

PORT_TOOLS = (PORT_GET, PORT_LIST)
