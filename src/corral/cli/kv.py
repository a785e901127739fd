"""`corral kv`: values that a whole team sees."""

import os
import sys

from corral.cli.command import INTEGER, TEAM, Argument, Command, Invocation, Option
from corral.cli.foreign import Foreign
from corral.cli.output import json_line, plain, say, write_bytes, write_json
from corral.cli.table import lines
from corral.cli.team_targets import of_team
from corral.client.answers import Record, ask, records, stream_was_cut
from corral.domain.errors import NotFoundError, WrongUseError

_KEY = Argument("KEY", summary="the key, such as build/status")
_IF_REVISION = Option(
    "if-revision",
    value="N",
    kind=INTEGER,
    summary="only if the key still has this revision; 0: only if it is not there",
)
_LARGEST = 1 << 20
#: What a transaction can have: whether it is by key, of which kinds the values are, and that in words.
_FIELDS: "dict[str, tuple[bool, tuple[type, ...], str]]" = {
    "if_revisions": (True, (int,), "is an object with a whole number for each key"),
    "puts": (True, (str, dict), 'is an object with text, or {"base64": …}, for each key'),
    "drops": (False, (str,), "is a list of keys"),
}


def get(invocation: Invocation) -> int:
    of, key = of_team(invocation), invocation.word("KEY")
    answer = ask(of.places, "GET", of.request("/v1/kv", ("key", key)))
    if invocation.json:
        write_json(answer)
        return 0
    data = _bytes(answer)
    Foreign()(data)
    if sys.stdout.isatty() and not data.endswith(b"\n"):
        say("")
    return 0


def put(invocation: Invocation) -> int:
    key, words = invocation.word("KEY"), invocation.words("VALUE")
    value = _value(words)
    return _change(invocation, {"puts": {key: value}, **_condition(invocation, [key])})


def remove(invocation: Invocation) -> int:
    keys = invocation.words("KEY")
    return _change(invocation, {"drops": keys, **_condition(invocation, keys)}, must_be_there=True)


def transact(invocation: Invocation) -> int:
    import json

    text = sys.stdin.buffer.read((_LARGEST << 4) + 1) if sys.stdin is not None else b""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WrongUseError(f"the transaction is no JSON: {error}", "corral help kv txn shows one") from None
    if not isinstance(body, dict):
        raise WrongUseError("the transaction is no JSON object", "corral help kv txn shows one")
    for name, given in body.items():
        _check_field(name, given)
    return _change(invocation, body)


def _check_field(name: str, given: object) -> None:
    """`WrongUseError` names what of a transaction can be no part of one."""
    if name not in _FIELDS:
        raise WrongUseError(
            f"the transaction has {name[:80]!r}, which is no part of one",
            f"there are {', '.join(_FIELDS)}; corral help kv txn shows one",
        )
    is_keyed, kinds, wanted = _FIELDS[name]
    wrong = ""
    if not isinstance(given, dict if is_keyed else list):
        wrong = name
    elif isinstance(given, dict):
        wrong = next((f"{name} of {key[:80]!r}" for key, one in given.items() if type(one) not in kinds), "")
    elif isinstance(given, list):
        wrong = next((f"{name}, number {n}" for n, one in enumerate(given, 1) if type(one) not in kinds), "")
    if wrong:
        raise WrongUseError(f"the transaction does not fit: {wrong}", f"{name} {wanted}; corral help kv txn shows one")


def _change(invocation: Invocation, body: Record, *, must_be_there: bool = False) -> int:
    of = of_team(invocation)
    answer = ask(of.places, "POST", of.request("/v1/kv"), body)
    if must_be_there and not answer.get("changed"):
        raise NotFoundError("there was nothing to remove", "corral kv ls shows the keys that there are")
    if invocation.json:
        write_json(answer)
    else:
        say(f"revision {answer.get('revision')}")
    return 0


def _condition(invocation: Invocation, keys: list[str]) -> Record:
    seen = invocation.integer("if-revision")
    if seen is None:
        return {}
    if len(keys) > 1:
        raise WrongUseError("--if-revision is about one key", "corral kv txn takes one for each")
    return {"if_revisions": {keys[0]: seen}}


def _value(words: list[str]) -> object:
    """Words joined by a space, or standard input as it is; text where it can be, else bytes."""
    if words and words != ["-"]:
        return _as_json(os.fsencode(" ".join(words)))
    if sys.stdin is None or (not words and sys.stdin.isatty()):
        raise WrongUseError("there is no value", "write it after the key, or pipe it in")
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise WrongUseError(f"that is more than {_LARGEST >> 20} MiB", "put it into a file, and its path here")
    return _as_json(data)


def _as_json(data: bytes) -> object:
    try:
        return data.decode()
    except UnicodeDecodeError:
        import binascii

        return {"base64": binascii.b2a_base64(data, newline=False).decode("ascii")}


def _bytes(record: Record) -> bytes:
    text = str(record.get("value") or "")
    if record.get("encoding") == "base64":
        import binascii

        return binascii.a2b_base64(text)
    return text.encode()


def ls(invocation: Invocation) -> int:
    of = of_team(invocation)
    answer = ask(of.places, "GET", of.request("/v1/kv/list", ("prefix", _prefix(invocation))))
    if invocation.json:
        write_json(answer)
        return 0
    values = answer.get("values")
    rows = [
        [plain(str(one.get("key"))), str(one.get("revision")), plain(str(one.get("by"))), _short(one)]
        for one in (values if isinstance(values, list) else [])
    ]
    for line in lines([["KEY", "REVISION", "BY", "VALUE"], *rows]) if rows else ():
        say(line)
    return 0


def _short(record: Record) -> str:
    if record.get("encoding") == "base64":
        return f"({len(_bytes(record))} bytes)"
    text = plain(str(record.get("value")).split("\n", 1)[0])
    return text if len(text) <= 60 else text[:59] + "…"


def watch(invocation: Invocation) -> int:
    of, after = of_team(invocation), invocation.integer("after")
    parameters = (("prefix", _prefix(invocation)), ("after", None if after is None else str(after)))
    for record in records(of.places, "GET", of.request("/v1/kv/watch", *parameters)):
        if invocation.json:
            write_bytes(json_line(record))
            continue
        changes = record.get("changes")
        for one in changes if isinstance(changes, list) else []:
            what = "removed" if one.get("value") is None else _short(one)
            say(f"{record.get('revision')}  {plain(str(one.get('key')))}  {what}")
        sys.stdout.flush()
    raise stream_was_cut(of.places)


def _prefix(invocation: Invocation) -> "str | None":
    words = invocation.words("PREFIX")
    return words[0] if words else None


_PREFIX = Argument("PREFIX", summary="only keys that begin so", required=False)

COMMAND = Command(
    "kv",
    "keep values that the whole team sees",
    description=(
        "Values by key, for what agents and people of a team must agree on: who deploys, which build is good. Every\n"
        "change has a revision, greater than all before. With --if-revision a change is made only if the key still\n"
        "has the revision that was seen, and otherwise refused (exit 4), so nobody overwrites what they have not\n"
        "seen. An answer means that it is on the disk. Values stay when the team goes down."
    ),
    examples=(
        ("corral kv put build/status green", "put a value"),
        ("corral kv get build/status", "see it"),
        ("corral kv watch build/", "follow what changes"),
    ),
    commands=(
        Command(
            "kv get",
            "print the value of a key",
            description=(
                "Prints the value byte for byte; a terminal gets only what shows something. Exit code 3 if there is\n"
                "none."
            ),
            examples=(("corral kv get build/status", "the value"),),
            arguments=(_KEY,),
            options=(TEAM,),
            run=get,
        ),
        Command(
            "kv put",
            "put a value",
            description=(
                "Words are joined by a space. Without VALUE, or with -, it is standard input, byte for byte, up to\n"
                "1 MiB."
            ),
            examples=(
                ("corral kv put build/status green", "whatever was there before"),
                ("corral kv put --if-revision 0 deploy/by ann", "only if nobody else has"),
                ("corral kv put plan < plan.md", "a file"),
            ),
            arguments=(_KEY, Argument("VALUE", summary="the value", required=False, repeated=True)),
            options=(_IF_REVISION, TEAM),
            run=put,
        ),
        Command(
            "kv rm",
            "remove keys",
            description="All of them in one transaction. Exit code 3 if none of them was there.",
            examples=(("corral kv rm deploy/by", "the key and its value"),),
            arguments=(Argument("KEY", summary="the key", repeated=True),),
            options=(_IF_REVISION, TEAM),
            run=remove,
        ),
        Command(
            "kv ls",
            "list keys and their values",
            examples=(("corral kv ls build/", "keys that begin with build/"),),
            arguments=(_PREFIX,),
            options=(TEAM,),
            run=ls,
        ),
        Command(
            "kv watch",
            "follow changes of values",
            description=(
                "Every change after a revision, each once and in order. The revision of the last one that was seen is\n"
                "where to go on: nothing in between is missed. A revision that is too old is refused (exit 4)."
            ),
            examples=(
                ("corral kv watch build/", "what changes from now on"),
                ("corral kv watch --after 120 --json", "and what changed since revision 120"),
            ),
            arguments=(_PREFIX,),
            options=(
                Option("after", value="N", kind=INTEGER, summary="changes after this revision; 0: all that are kept"),
                TEAM,
            ),
            run=watch,
        ),
        Command(
            "kv txn",
            "change several keys at once, or none",
            description=(
                'Reads a JSON object from standard input: "puts" (values by key), "drops" (keys to remove) and\n'
                '"if_revisions" (the revision that a key must have, 0 if it must not be there). If one of those is\n'
                'another, nothing is changed (exit 4). A value that is no text is {"base64": "…"}.'
            ),
            examples=(
                (
                    'echo \'{"if_revisions": {"a": 7}, "puts": {"a": "1", "b": "2"}}\' | corral kv txn',
                    "both, if a has not changed since",
                ),
            ),
            options=(TEAM,),
            run=transact,
        ),
    ),
)
