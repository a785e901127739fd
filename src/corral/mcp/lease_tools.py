"""The tools of `corral lease`, as they are told to a model."""

from __future__ import annotations

import os
import re

from corral.domain.errors import NotFoundError, WrongUseError
from corral.mcp.calls import DEFAULT_WAIT, Arguments, Call
from corral.mcp.parameters import FLAG, TEXT, WORDS, Parameter
from corral.mcp.telling import field, listing, record, told
from corral.mcp.tool import Tool, waiting
from corral.mcp.words import Record

_NAME = re.compile(r"l[0-9]{1,19}")
#: So many of the files that were asked about are named in words, the others counted.
_MOST_NAMED = 20

LEASE = record(
    {
        "lease": field("string", "its name: give it to lease_release"),
        "token": field("integer", "greater than that of every earlier lease"),
        "patterns": listing({"type": "string"}, "what is held"),
        "mode": field("string", "`exclusive`, or `shared`"),
        "agent": field("string", "who holds it: an agent as TEAM/AGENT, or a person"),
        "expires_at": field("string", "when it goes without a sign of life; yours is renewed for you while you run"),
        "since": field("string", "since when"),
        "suspect": field("boolean", "its holder has died: it goes at `expires_at`"),
    }
)
_LEASES = record({"leases": listing(LEASE, "all leases on this repository, the oldest first")})
_FREE = record(
    {
        "free": field("boolean", "nobody else holds them; otherwise you get an error that names the holder"),
        "paths": listing({"type": "string"}, "what was asked for"),
    }
)


def lease_acquire(arguments: Arguments) -> Call:
    """`corral lease acquire`"""
    return _wanted(arguments, "/v1/leases")


def lease_release(arguments: Arguments) -> Call:
    """`corral lease release`"""
    lease = str(arguments["lease"])
    # Nothing but a name may get into the path of a request.
    if not _NAME.fullmatch(lease):
        raise NotFoundError(f"there is no lease {lease!r}", "lease_list shows those that there are")
    return Call(method="POST", path=f"/v1/leases/{lease}/release", body={})


def lease_check(arguments: Arguments) -> Call:
    """`corral lease check`"""
    paths = arguments["paths"]
    assert isinstance(paths, list)
    # As `corral lease check` does: in a query there is no room for many.
    return Call(method="POST", path="/v1/leases/check", body=b"".join(_name(str(path)) + b"\0" for path in paths))


def _name(path: str) -> bytes:
    """What a file of that name is called by the system."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        name = b""
    if not name or b"\0" in name:
        raise WrongUseError(f"{path[:100]!r} names no file", "give a path from the top of the repository: src/main.py")
    return name


def lease_wait(arguments: Arguments) -> Call:
    """`corral lease wait`"""
    return _wanted(arguments, "/v1/leases/wait")


def _wanted(arguments: Arguments, path: str) -> Call:
    wait = arguments["wait"]
    assert isinstance(wait, int | float)
    body = {"patterns": arguments["patterns"], "shared": arguments["shared"], "wait": wait}
    return Call(method="POST", path=path, body=body, wait=float(wait))


def lease_list(_: Arguments) -> Call:
    """`corral lease ls`"""
    return Call(method="GET", path="/v1/leases")


def lease_words(one: Record) -> str:
    """One lease."""
    patterns = one.get("patterns")
    held = ", ".join(map(str, patterns)) if isinstance(patterns, list) else ""
    dead = ", whose holder has died" if one.get("suspect") else ""
    return f"{one.get('lease')}: {one.get('agent')} holds {held} ({one.get('mode')}) since {one.get('since')}{dead}"


def released_words(one: Record) -> str:
    """A lease that was given back."""
    return f"{one.get('lease')} is released"


def free_words(answer: Record) -> str:
    """Files that may be changed."""
    paths = answer.get("paths")
    if not isinstance(paths, list):
        return "free"
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return f"nobody else holds {', '.join(map(str, paths[:_MOST_NAMED]))}{more}"


def list_words(answer: Record) -> str:
    """All leases."""
    found = answer.get("leases")
    rows = [lease_words(one) for one in found] if isinstance(found, list) else []
    return "\n".join(rows) or "nobody holds anything"


_PATTERNS = Parameter(
    name="patterns",
    kind=WORDS,
    required=True,
    about="Paths from the top of the repository, at most 64. `src/api/` is everything below, `*` and `?` stay within a "
    "name, `**` is any number of directories: src/**/*.py. A backslash before a character takes it as it is.",
)

LEASE_ACQUIRE = Tool(
    name="lease_acquire",
    cli="lease acquire",
    title="Hold files",
    description=told("""
Hold files of the repository, so that no other agent changes them while you do. Do this before you begin to change
files that others may work on, with patterns as narrow as your work: a directory, or the files themselves. You get all
of the patterns or none. If somebody else holds one of the files, you get an error that names the holder and since when:
then work on something else, ask the holder, or call again with `wait` to stand in line. A wait that could never end,
because the holder waits for you, is refused at once.

You need not renew it: it is yours as long as you run. Give it back with lease_release as soon as your change is
committed.
"""),
    parameters=(
        _PATTERNS,
        Parameter(
            name="shared",
            kind=FLAG,
            default=False,
            about="true: you only read, and want nobody to write meanwhile. Several can hold files shared.",
        ),
        waiting("to stand in line if somebody else has it"),
    ),
    result=LEASE,
    call=lease_acquire,
    words=lease_words,
)

LEASE_RELEASE = Tool(
    name="lease_release",
    cli="lease release",
    title="Give files back",
    description=told("""
Give a lease of yours back, so that others can have the files. Do it as soon as your change is committed; whatever you
still hold when you end is given back by itself.
"""),
    parameters=(
        Parameter(
            name="lease",
            kind=TEXT,
            required=True,
            about="The name that lease_acquire answered with, or that lease_list shows; such as l57.",
        ),
    ),
    result=LEASE,
    call=lease_release,
    words=released_words,
)

LEASE_CHECK = Tool(
    name="lease_check",
    cli="lease check",
    title="Ask whether files are free",
    description=told("""
Ask whether you may change files: nobody else holds them. An error names who does. It holds nothing for you: between
this answer and your change somebody may take them, so for more than a small edit use lease_acquire.
"""),
    parameters=(
        Parameter(
            name="paths",
            kind=WORDS,
            required=True,
            about="Paths from the top of the repository, taken as they are; at most 10,000.",
        ),
    ),
    result=_FREE,
    call=lease_check,
    words=free_words,
    reads_only=True,
)

LEASE_LIST = Tool(
    name="lease_list",
    cli="lease ls",
    title="See who holds what",
    description=told("""
List all leases on the files of this repository: who holds what, and since when. Look here to choose work that is in
nobody's way, and to find leases of your own that you forgot.
"""),
    parameters=(),
    result=_LEASES,
    call=lease_list,
    words=list_words,
    reads_only=True,
)

LEASE_WAIT = Tool(
    name="lease_wait",
    cli="lease wait",
    title="Wait until files are free",
    description=told("""
Wait until nobody else holds files, without taking them. Use it when you only want to know that somebody is done with
them, such as before you read or test what they change. To have the files then, use lease_acquire with `wait` instead:
between this answer and your next call somebody else may take them. If they are not free in time, or if the wait could
never end, you get an error that names the holder.
"""),
    parameters=(
        _PATTERNS,
        Parameter(
            name="shared",
            kind=FLAG,
            default=False,
            about="true: others may go on reading them; it is enough that nobody may write.",
        ),
        waiting("to wait", default=DEFAULT_WAIT),
    ),
    result=_FREE,
    call=lease_wait,
    words=free_words,
    reads_only=True,
)

LEASE_TOOLS = (LEASE_ACQUIRE, LEASE_RELEASE, LEASE_CHECK, LEASE_WAIT, LEASE_LIST)
