"""The tools of `corral kv`, as they are told to a model."""

from __future__ import annotations

from corral.mcp.calls import DEFAULT_WAIT, Arguments, Call
from corral.mcp.parameters import REVISIONS, TEXT, VARIABLES, WHOLE_NUMBER, WORDS, Parameter
from corral.mcp.telling import field, listing, record, told
from corral.mcp.tool import Tool, waiting
from corral.mcp.words import Record

_KEY = Parameter(
    name="key", kind=TEXT, required=True, about="The key: a path-like name of at most 512 bytes, such as build/status."
)
_PREFIX = Parameter(
    name="prefix", kind=TEXT, default="", about="Only keys that begin so, such as build/. Without it, all keys."
)
_IF_REVISION = Parameter(
    name="if_revision",
    kind=WHOLE_NUMBER,
    least=0,
    about="Only if the key still has this revision, which kv_get told you; 0: only if it does not exist. If somebody "
    "changed it since, nothing is changed, and you get an error that says which revision it has. Without it, whatever "
    "is there is overwritten.",
)

_REVISION = field("integer", "the revision of the change that put the value there: give it as if_revision")
_ENCODING = field("string", "`base64` if the value is no UTF-8: then it is written so; else it is missing")
_VALUE = record(
    {
        "key": field("string", "the key"),
        "value": field("string", "the value"),
        "revision": _REVISION,
        "created_revision": field("integer", "the revision of the change that made the key"),
        "by": field("string", "who put it there: an agent as TEAM/AGENT, or a person"),
        "time": field("string", "when"),
        "encoding": _ENCODING,
    },
    "encoding",
)
_CHANGED = record(
    {
        "revision": field("integer", "the revision of this change, greater than all before"),
        "changed": listing({"type": "string"}, "the keys that were changed; empty if there was nothing to remove"),
    }
)
_CHANGE = record(
    {
        "revision": field("integer", "the revision of the change"),
        "time": field("string", "when"),
        "by": field("string", "by whom"),
        "changes": listing(
            record(
                {
                    "key": field("string", "the key"),
                    "value": field(["string", "null"], "the value; null if it was removed"),
                    "encoding": _ENCODING,
                },
                "encoding",
            ),
            "what changed, together",
        ),
    }
)


def kv_get(arguments: Arguments) -> Call:
    """`corral kv get`"""
    return Call(method="GET", path="/v1/kv", parameters=(("key", str(arguments["key"])),))


def kv_put(arguments: Arguments) -> Call:
    """`corral kv put`"""
    key = str(arguments["key"])
    return Call(method="POST", path="/v1/kv", body={"puts": {key: arguments["value"]}, **_condition(arguments, key)})


def kv_remove(arguments: Arguments) -> Call:
    """`corral kv rm`"""
    key = str(arguments["key"])
    return Call(method="POST", path="/v1/kv", body={"drops": [key], **_condition(arguments, key)})


def kv_list(arguments: Arguments) -> Call:
    """`corral kv ls`"""
    return Call(method="GET", path="/v1/kv/list", parameters=(("prefix", str(arguments["prefix"])),))


def kv_watch(arguments: Arguments) -> Call:
    """`corral kv watch`, until something changed"""
    wait = arguments["wait"]
    assert isinstance(wait, int | float)
    return Call(
        method="GET",
        path="/v1/kv/changes",
        parameters=(
            ("after", str(arguments["after"])),
            ("prefix", str(arguments["prefix"])),
            ("wait", f"{wait:g}"),
        ),
        wait=float(wait),
    )


def kv_transact(arguments: Arguments) -> Call:
    """`corral kv txn`"""
    return Call(method="POST", path="/v1/kv", body=dict(arguments))


def _condition(arguments: Arguments, key: str) -> dict[str, object]:
    seen = arguments.get("if_revision")
    return {} if seen is None else {"if_revisions": {key: seen}}


def value_words(one: Record) -> str:
    """The answer of `kv_get`."""
    coded = ", in base64" if one.get("encoding") else ""
    return f"{one.get('key')} has revision {one.get('revision')}, by {one.get('by')}{coded}\n\n{one.get('value')}"


def changed_words(one: Record) -> str:
    """The answer of `kv_put` and `kv_remove`."""
    keys = one.get("changed")
    if not isinstance(keys, list) or not keys:
        return "nothing was changed: there was no such key"
    return f"{', '.join(map(str, keys))} changed, revision {one.get('revision')}"


def list_words(answer: Record) -> str:
    """The answer of `kv_list`."""
    found = answer.get("values")
    rows = [
        f"{one.get('key')}  revision {one.get('revision')}  by {one.get('by')}  {_short(one.get('value'))}"
        for one in (found if isinstance(found, list) else [])
    ]
    return "\n".join([*rows, f"as of revision {answer.get('revision')}" + ("" if rows else ": no keys")])


def watch_words(answer: Record) -> str:
    """The answer of `kv_watch`."""
    found = answer.get("changes")
    rows = [
        f"{change.get('revision')}  {one.get('key')}  "
        + ("removed" if one.get("value") is None else _short(one.get("value")))
        + f"  by {change.get('by')}"
        for change in (found if isinstance(found, list) else [])
        for one in change.get("changes", [])
    ]
    return "\n".join([*(rows or ["nothing changed"]), f"to wait on, call again with after={answer.get('next')}"])


def _short(value: object) -> str:
    text = str(value).split("\n", 1)[0]
    return text if len(text) <= 100 else text[:99] + "…"


KV_GET = Tool(
    name="kv_get",
    cli="kv get",
    title="Get a shared value",
    description=told("""
Get the value of a key that your whole team shares, with its revision. Look here for what others have agreed on before
you decide it anew: which build is good, who deploys, what the plan is. An error says if there is no such key.
"""),
    parameters=(_KEY,),
    result=_VALUE,
    call=kv_get,
    words=value_words,
    reads_only=True,
)

KV_PUT = Tool(
    name="kv_put",
    cli="kv put",
    title="Put a shared value",
    description=told("""
Put a value that every agent and person of your team can see. It is on the disk when the answer comes, and stays after
restarts. To change something that you have read, give if_revision with the revision that kv_get told: then you cannot
overwrite what somebody else has written meanwhile. To be the only one who takes something, use if_revision=0. If it is
refused, call kv_get again and decide anew. A value is for all to read: put no secrets there.
"""),
    parameters=(
        _KEY,
        Parameter(name="value", kind=TEXT, required=True, about="The value: any text of at most 1 MiB."),
        _IF_REVISION,
    ),
    result=_CHANGED,
    call=kv_put,
    words=changed_words,
    destroys=True,
)

KV_REMOVE = Tool(
    name="kv_remove",
    cli="kv rm",
    title="Remove a shared value",
    description=told("""
Remove a key and its value, for the whole team. With if_revision, only if it is still as you saw it. A key that does
not exist is no error: then `changed` in the answer is empty.
"""),
    parameters=(_KEY, _IF_REVISION),
    result=_CHANGED,
    call=kv_remove,
    words=changed_words,
    destroys=True,
)

KV_LIST = Tool(
    name="kv_list",
    cli="kv ls",
    title="List shared values",
    description=told("""
List the keys of your team in their order, with values and revisions. `revision` of the answer is the moment that it
shows: give it to kv_watch as `after`, and you miss no change in between.
"""),
    parameters=(_PREFIX,),
    result=record(
        {
            "revision": field("integer", "the revision as of which this is: give it to kv_watch as `after`"),
            "values": listing(_VALUE, "the values, in the order of their keys"),
        }
    ),
    call=kv_list,
    words=list_words,
    reads_only=True,
)

KV_WATCH = Tool(
    name="kv_watch",
    cli="kv watch",
    title="Wait for a change",
    description=told("""
Wait until a shared value changes, and get what changed after the revision `after`, in order and without a gap. Use it
instead of asking kv_get again and again. If something changed already, the answer comes at once. If nothing changes
within `wait` seconds, `changes` is empty. Either way `next` is what to give as `after` in the next call. A revision so
old that changes after it are not kept any more is an error: call kv_list, and go on from its revision.
"""),
    parameters=(
        Parameter(
            name="after",
            kind=WHOLE_NUMBER,
            required=True,
            least=0,
            about="Changes after this revision: `revision` of kv_list, or `next` of the answer before.",
        ),
        _PREFIX,
        waiting("to wait for a change", default=DEFAULT_WAIT),
    ),
    result=record(
        {
            "changes": listing(_CHANGE, "the changes, each all that one transaction did"),
            "next": field("integer", "give it as `after` in the next call"),
        }
    ),
    call=kv_watch,
    words=watch_words,
    reads_only=True,
)

KV_TRANSACT = Tool(
    name="kv_transact",
    cli="kv txn",
    title="Change several shared values at once",
    description=told("""
Change several shared values together: all of what you give is done, or nothing. Nobody ever sees a part of it. Use it
where values belong together, such as a plan and who works on which part of it. With if_revisions nothing is changed if
one of those keys is not as you saw it any more: you get an error that names the key and the revision that it has now;
then read again, and decide anew. You may also give there keys that you only rely on and do not change.
"""),
    parameters=(
        Parameter(
            name="puts", kind=VARIABLES, about="Values by key, each any text: what is to be put. At most 1 MiB each."
        ),
        Parameter(name="drops", kind=WORDS, about="Keys to remove. One that does not exist is no error."),
        Parameter(
            name="if_revisions",
            kind=REVISIONS,
            about="By key, the revision that it must have, as kv_get told you; 0: it must not exist.",
        ),
    ),
    result=_CHANGED,
    call=kv_transact,
    words=changed_words,
    destroys=True,
)

KV_TOOLS = (KV_GET, KV_PUT, KV_REMOVE, KV_LIST, KV_WATCH, KV_TRANSACT)
