"""The tools of `corral merge`, as they are told to a model."""

from __future__ import annotations

from corral.client.wire import path_word
from corral.mcp.calls import Arguments, Call
from corral.mcp.parameters import FLAG, TEXT, WHOLE_NUMBER, Parameter
from corral.mcp.telling import Schema, field, listing, record, told
from corral.mcp.tool import Tool, waiting
from corral.mcp.words import Record

_STATES = "queued, testing, landing, merged, conflict, failed, refused or cancelled"
_FIELDS: dict[str, Schema] = {
    "merge": field("string", "its id, such as q12"),
    "branch": field("string", "the branch"),
    "tip": field("string", "the commit that is merged; what you commit later is not part of it"),
    "target": field("string", "the branch that it goes into"),
    "state": field("string", _STATES),
    "step": field("string", "what is done now, or what it waits for"),
    "reason": field("string", "why it is at this end"),
    "remedy": field("string", "what helps"),
    "agent": field("string", "whose work it is: an agent as TEAM/AGENT; empty if it is a person's"),
    "files": listing({"type": "string"}, "files in conflict"),
}
_MERGE = record(_FIELDS)
_GATE = record(
    {
        "command": field("string", "what was run"),
        "passed": field("boolean", "it ended with exit code 0, in time"),
        "exit_code": field(["integer", "null"], "null if its time was up"),
        "output": field("string", "the end of what it wrote"),
    }
)
_WHOLE = record({**_FIELDS, "gates": listing(_GATE, "the gates that ran on the merged tree")})
_SUBMITTED = record(
    {
        "merge": field(["string", "null"], "its id: give it to merge_show; null if the target has all of it already"),
        "state": field("string", _STATES),
        "branch": field("string", "the branch"),
        "target": field("string", "the branch that it goes into"),
        "note": field("string", "what you should know: work of yours that is in no commit, and so not part of it"),
        "reason": field("string", "why it is at this end"),
    }
)
_LISTED = record({"merges": listing(_MERGE, "the line, the first first"), "target": field("string", "where they go")})

_WAIT = waiting("until the answer comes, if it is not at an end before")
_ID = Parameter(name="merge", kind=TEXT, required=True, about="The id that merge_submit answered with, such as q12.")
_TOKEN = Parameter(
    name="token",
    kind=WHOLE_NUMBER,
    least=0,
    about="The token of a lease that your change relies on: it goes in only while you hold that lease.",
)


def merge_submit(arguments: Arguments) -> Call:
    """`corral merge submit`"""
    wait = _seconds(arguments)
    tokens = [arguments["token"]] if "token" in arguments else []
    body = {"branch": arguments.get("branch", ""), "tokens": tokens, "wait": wait}
    return Call(method="POST", path="/v1/merges", body=body, wait=wait)


def merge_list(arguments: Arguments) -> Call:
    """`corral merge ls`"""
    return Call(method="GET", path="/v1/merges", parameters=(("all", "1" if arguments.get("all") else "0"),))


def merge_show(arguments: Arguments) -> Call:
    """`corral merge show`"""
    wait = _seconds(arguments)
    return Call(method="GET", path=_path(arguments), parameters=(("wait", f"{wait:g}"),), wait=wait)


def merge_cancel(arguments: Arguments) -> Call:
    """`corral merge cancel`"""
    return Call(method="POST", path=f"{_path(arguments)}/cancel")


def merge_retry(arguments: Arguments) -> Call:
    """`corral merge retry`"""
    tokens = [arguments["token"]] if "token" in arguments else []
    return Call(method="POST", path=f"{_path(arguments)}/retry", body={"tokens": tokens})


def _path(arguments: Arguments) -> str:
    # Nothing but what can be an id may get into the path of a request.
    return f"/v1/merges/{path_word(str(arguments['merge'])) or '-'}"


def _seconds(arguments: Arguments) -> float:
    wait = arguments.get("wait", 0.0)
    assert isinstance(wait, int | float)
    return float(wait)


def submitted_words(answer: Record) -> str:
    """The answer of `merge_submit`."""
    name = answer.get("merge")
    if name is None:
        return f"{answer.get('branch')}: {answer.get('reason')}"
    why = f": {answer.get('reason')}" if answer.get("reason") else ""
    note = f"\n{answer.get('note')}" if answer.get("note") else ""
    return f"{name} ({answer.get('branch')} into {answer.get('target')}) is {answer.get('state')}{why}{note}"


def merge_words(one: Record) -> str:
    """One merge."""
    said = [f"{one.get('merge')} ({one.get('branch')} into {one.get('target')}) is {one.get('state')}"]
    said += [f"{key}: {one.get(key)}" for key in ("step", "reason", "remedy") if one.get(key)]
    files, gates = one.get("files"), one.get("gates")
    said += [f"in conflict: {file}" for file in files] if isinstance(files, list) else []
    for gate in gates if isinstance(gates, list) else []:
        if not gate.get("passed"):
            said += [f"gate {gate.get('command')!r} failed; the end of what it wrote:", str(gate.get("output"))]
    return "\n".join(said)


def list_words(answer: Record) -> str:
    """The line."""
    found = answer.get("merges")
    rows = [
        f"{one.get('merge')}  {one.get('state')}  {one.get('branch')}  {one.get('step') or one.get('reason') or ''}"
        for one in (found if isinstance(found, list) else [])
    ]
    return "\n".join(rows) or "nothing waits to be merged"


MERGE_SUBMIT = Tool(
    name="merge_submit",
    cli="merge submit",
    title="Hand your branch in",
    description=told("""
Hand in your branch, so that it is merged into the target branch. Do this when your work is committed and done: it is
the only way into the target; do not merge or push there yourself. It is merged as it is committed now, tested together
with what others handed in, and goes in by itself; you need not wait.

If it conflicts, or a test fails on the merged tree, you get a message (message_inbox) that names the files or the test.
Then bring the target into your branch (git merge), mend it, commit, and call merge_retry. It is refused if it changes
files that somebody else holds.
"""),
    parameters=(
        Parameter(name="branch", kind=TEXT, about="The branch; without it, the one that your workspace is on."),
        _TOKEN,
        _WAIT,
    ),
    result=_SUBMITTED,
    call=merge_submit,
    words=submitted_words,
)

MERGE_LIST = Tool(
    name="merge_list",
    cli="merge ls",
    title="See what waits to be merged",
    description=told("""
List the branches that are on their way into the target, the first first, with what is done now or what they wait for.
"""),
    parameters=(Parameter(name="all", kind=FLAG, default=False, about="true: also those that went in, or did not."),),
    result=_LISTED,
    call=merge_list,
    words=list_words,
    reads_only=True,
)

MERGE_SHOW = Tool(
    name="merge_show",
    cli="merge show",
    title="See what became of a merge",
    description=told("""
See how far a branch is that was handed in: whether it went in, which files are in conflict, which test failed and what
that wrote. With `wait` the answer comes when it is at an end.
"""),
    parameters=(_ID, _WAIT),
    result=_WHOLE,
    call=merge_show,
    words=merge_words,
    reads_only=True,
)

MERGE_CANCEL = Tool(
    name="merge_cancel",
    cli="merge cancel",
    title="Take a branch back",
    description=told("""
Take a branch out of the line before it goes in, because you found that it is not done. The branch itself stays as it
is. Hand it in again with merge_retry.
"""),
    parameters=(_ID,),
    result=_WHOLE,
    call=merge_cancel,
    words=merge_words,
    destroys=True,
)

MERGE_RETRY = Tool(
    name="merge_retry",
    cli="merge retry",
    title="Hand a branch in again",
    description=told("""
Hand a branch in again that did not go in, with what is committed on it now. Mend it first: bring the target into your
branch (git merge), resolve what is in conflict or repair what the test found, and commit. It relies on the tokens that
it had, unless you give another.
"""),
    parameters=(_ID, _TOKEN),
    result=_WHOLE,
    call=merge_retry,
    words=merge_words,
)

MERGE_TOOLS = (MERGE_SUBMIT, MERGE_LIST, MERGE_SHOW, MERGE_CANCEL, MERGE_RETRY)
