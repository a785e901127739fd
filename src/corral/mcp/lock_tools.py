"""The tools of `corral lock`, as they are told to a model."""

from __future__ import annotations

from corral.mcp.calls import Arguments, Call
from corral.mcp.lease_tools import LEASE, lease_words
from corral.mcp.parameters import TEXT, Parameter
from corral.mcp.telling import listing, record, told
from corral.mcp.tool import Tool, waiting
from corral.mcp.words import Record


def lock_acquire(arguments: Arguments) -> Call:
    """`corral lock`, but that the lock belongs to the agent's run, for there is no command that could hold it"""
    wait = arguments["wait"]
    assert isinstance(wait, int | float)
    body = {"name": arguments["name"], "wait": wait, "while_agent_runs": True}
    return Call(method="POST", path="/v1/locks", body=body, wait=float(wait))


def lock_list(_: Arguments) -> Call:
    """`corral lock ls`"""
    return Call(method="GET", path="/v1/locks")


def list_words(answer: Record) -> str:
    """All locks."""
    found = answer.get("leases")
    rows = [lease_words(one) for one in found] if isinstance(found, list) else []
    return "\n".join(rows) or "nobody holds a lock"


LOCK_ACQUIRE = Tool(
    name="lock_acquire",
    cli="lock",
    title="Hold a lock",
    description=told("""
Hold a lock: a name that one agent or person of the team has at a time. Use it around what must not be done by two at
once and is no file: a deployment, a migration of a database, a device. All who do it must ask for the same name. If
somebody else has it, you get an error that names them; call again with `wait` to stand in line. A wait that could never
end, because the holder waits for you, is refused at once.

It is yours until you give it back with lease_release, and as long as you run; do that as soon as you are done. To hold
a lock just while one command runs, execute `corral lock NAME -- COMMAND` instead. For files use lease_acquire.
"""),
    parameters=(
        Parameter(
            name="name",
            kind=TEXT,
            required=True,
            about="The name of the lock, such as deploy: letters, digits, dots, underscores and dashes, at most 100.",
        ),
        waiting("to stand in line if somebody else has it"),
    ),
    result=LEASE,
    call=lock_acquire,
    words=lease_words,
)

LOCK_LIST = Tool(
    name="lock_list",
    cli="lock ls",
    title="See who holds which lock",
    description=told("""
List the locks of your team that somebody holds: who has which, since when, and under which name of a lease. Look here
before you do something that others may be doing, and to find a lock of your own that you forgot to give back.
"""),
    parameters=(),
    result=record({"leases": listing(LEASE, "all locks of the team, the oldest first; `patterns` has the name")}),
    call=lock_list,
    words=list_words,
    reads_only=True,
)

LOCK_TOOLS = (LOCK_ACQUIRE, LOCK_LIST)
