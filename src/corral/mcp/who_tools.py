"""The tool of `corral who`, as it is told to a model."""

from __future__ import annotations

from corral.mcp.calls import Arguments, Call
from corral.mcp.parameters import NUMBER, TEXT, Parameter
from corral.mcp.telling import field, listing, record, told
from corral.mcp.tool import Tool
from corral.mcp.words import Record

_NULLABLE = ["string", "null"]
_TRACE = record(
    {
        "time": field(_NULLABLE, "when it happened, or since when it is so; null if nobody knows"),
        "what": field(
            "string", "now: changing, holds, claims. Happened: committed, granted, released, claimed, done, …"
        ),
        "now": field("boolean", "it is so now"),
        "agent": field(_NULLABLE, "the agent as TEAM/AGENT, if it was one"),
        "person": field(_NULLABLE, "the person, or the author of the commit"),
        "path": field("string", "the name that the file had then"),
        "detail": field("string", "the subject of the commit, the title of the task, the mode of the lease"),
        "commit": field(_NULLABLE, "the commit"),
        "branch": field(_NULLABLE, "the agent's branch that the commit was made on"),
        "lease": field(_NULLABLE, "the lease"),
        "pattern": field(_NULLABLE, "what of the lease names the file"),
        "task": field(_NULLABLE, "the task"),
        "workspace": field(_NULLABLE, "where it is being changed"),
    }
)
_RESULT = record(
    {
        "path": field("string", "the file, from the top of the repository"),
        "traces": listing(_TRACE, "what is so now, then what happened, the newest first"),
        "more": field("integer", "how many more there are"),
        "unseen": listing({"type": "string"}, "what could not be looked at, and why"),
    }
)


def who(arguments: Arguments) -> Call:
    """`corral who`"""
    since = arguments.get("since")
    return Call(
        method="GET",
        path="/v1/who",
        parameters=(("path", str(arguments["path"])), ("since", None if since is None else str(since))),
    )


def who_words(answer: Record) -> str:
    """The answer of `who`."""
    traces = answer.get("traces")
    rows = [_words(one) for one in traces] if isinstance(traces, list) else []
    return "\n".join(rows) or f"nobody had to do with {answer.get('path')} in that time"


def _words(one: Record) -> str:
    whose = one.get("agent") or one.get("person") or f"somebody in {one.get('workspace')}"
    about = one.get("commit") or one.get("lease") or one.get("task") or ""
    parts = [str(one.get("time") or "now"), str(whose), str(one.get("what")), str(about), str(one.get("detail") or "")]
    return "  ".join(part for part in parts if part)


WHO = Tool(
    name="who",
    cli="who",
    title="See who had to do with a file",
    description=told("""
See which agents and people changed a file, are changing it now, hold a lease on it, or have a task that names it. Look
here before you change a file that may be somebody else's work, when you meet a change that you did not make, and to
find out whom to ask about it (then message_send to that agent). Commits of all agents' branches are in it, also those
that are not merged yet, so it shows what will meet your change later.
"""),
    parameters=(
        Parameter(
            name="path",
            kind=TEXT,
            required=True,
            about="The file, from the top of the repository, such as src/api/users.py.",
        ),
        Parameter(
            name="since",
            kind=NUMBER,
            least=0,
            about="Only what happened since then, in unix seconds. Without it, all that is known.",
        ),
    ),
    result=_RESULT,
    call=who,
    words=who_words,
    reads_only=True,
)
