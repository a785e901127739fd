"""`corral token`: let people in over the network."""

import os

from corral.cli.command import MEMBERS, SECONDS, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, write_json
from corral.cli.table import lines
from corral.client.answers import Record, ask, ask_for_list
from corral.client.start import ensure_daemon
from corral.client.wire import path_word, target
from corral.domain.errors import CorralError

_HEADINGS = ["ID", "USER", "STATE", "EXPIRES", "CREATED", "BY", "NOTE"]


def add(invocation: Invocation) -> int:
    places, path = invocation.places, invocation.text("file")
    order = {
        "user": invocation.text("for") or "",
        "note": invocation.text("note") or "",
        "expires": invocation.number("expires"),
    }
    ensure_daemon(places)
    # Before there is a token: one that could not be put down would be good, and nobody's.
    descriptor = None if path is None else _made(path)
    try:
        made = ask(places, "POST", "/v1/tokens", order)
        token = str(made["token"])
        if descriptor is not None:
            os.write(descriptor, token.encode("ascii") + b"\n")
    except BaseException:
        if path is not None:
            os.unlink(path)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)
    if invocation.json:
        if path is not None:
            del made["token"]
            made["file"] = path
        write_json(made)
        return 0
    ends = f"until {made['expires']}" if made["expires"] else "until it is revoked"
    remark(plain(f"{made['id']}: whoever shows this token is {made['user']}, {ends}; it is not shown again"))
    say(token if path is None else path)
    return 0


def list_(invocation: Invocation) -> int:
    whose = [("user", invocation.text("for")), ("all", "1" if invocation.flag("all") else None)]
    ensure_daemon(invocation.places)
    tokens = ask_for_list(invocation.places, "GET", target("/v1/tokens", whose))
    if invocation.json:
        write_json(tokens)
    elif not tokens:
        say("no tokens; corral token add makes one")
    else:
        for line in lines([_HEADINGS, *map(_row, tokens)]):
            say(plain(line))
    return 0


def remove(invocation: Invocation) -> int:
    ensure_daemon(invocation.places)
    gone, failed = [], []
    for id_ in invocation.words("ID"):
        try:
            gone.append(ask(invocation.places, "DELETE", f"/v1/tokens/{path_word(id_)}"))
        except CorralError as error:
            failed.append(error)
    if failed:
        first, *others = failed
        if others:
            first.details["others"] = [error.as_json() for error in others]
        if gone and not invocation.json:
            _tell_gone(gone)
        raise first
    if invocation.json:
        write_json(gone)
    else:
        _tell_gone(gone)
    return 0


def _tell_gone(gone: "list[Record]") -> None:
    for token in gone:
        say(plain(f"{token['id']} of {token['user']} is revoked; whoever was connected with it was hung up on"))


def _made(path: str) -> int:
    """A new file that nobody else can read."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CorralError(
            f"{path} cannot be made: {error.strerror}", "name a file that is not there yet; no token was made"
        ) from None


def _row(token: Record) -> "list[str]":
    shown = {**token, "created": str(token["created"])[:10], "expires": str(token["expires"] or "-")[:16]}
    return [str(shown[heading.lower()]) for heading in _HEADINGS]


_FOR = Option("for", value="USER", summary="of another member; for owners", offers=MEMBERS)

ADD = Command(
    "token add",
    "make a token, with which you are known over the network",
    description=(
        "Whoever shows it to a daemon that listens on TCP ([listen] in its config.toml) is taken for you, and may do\n"
        "what you may, except what only people may do. It is shown once: Corral keeps a hash. Keep it where no agent\n"
        "of yours can read it, best on another machine. Made on the host itself, by yourself or an owner, and never\n"
        "by an agent."
    ),
    examples=(
        ("corral token add --note laptop --expires 90d", "print one that is good for 90 days"),
        ("corral token add --file laptop.token", "put it into a file that only you can read"),
        ("sudo corral token add --for ann --file ann.token", "an owner makes one for somebody else"),
    ),
    options=(
        _FOR,
        Option("note", value="TEXT", summary="what it is for: which machine, which script"),
        Option("expires", value="TIME", kind=SECONDS, summary="how long it is good, such as 90d; else until revoked"),
        Option("file", value="FILE", summary="put it into this new file (0600) instead of printing it", offers="files"),
    ),
    run=add,
)
LIST = Command(
    "token ls",
    "list your tokens",
    description="Tells what they are for and whether they are good, never what they are.",
    examples=(("corral token ls", "yours"), ("corral token ls --all", "everybody's; for owners")),
    options=(_FOR, Option("all", "a", summary="those of everybody; for owners")),
    run=list_,
)
REMOVE = Command(
    "token rm",
    "revoke tokens",
    description=(
        "They are good for nothing from then on, and whoever is connected with one is hung up on. What they had begun\n"
        "goes on. Exit code 3 if there is no such token, or none that you may revoke."
    ),
    examples=(("corral token rm 3f9a6c01d2e4", "by its id, which corral token ls shows"),),
    arguments=(Argument("ID", summary="the id of a token", repeated=True),),
    run=remove,
)

COMMAND = Command(
    "token",
    "let yourself in over the network: make, list and revoke tokens",
    description=(
        "By the socket of a host the kernel says who you are. A daemon that listens on TCP as well knows you by a\n"
        "token. Most people need neither: ssh to the host, and run corral there."
    ),
    examples=(
        ("corral token add --file laptop.token", "on the host; CORRAL_TOKEN_FILE names your copy of that file"),
        ("corral token ls", "which are there?"),
    ),
    commands=(ADD, LIST, REMOVE),
)
