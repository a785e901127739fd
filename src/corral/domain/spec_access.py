"""The `[agents.NAME.access]` table of a `corral.toml`: what an agent may touch."""

from collections.abc import Sequence

from corral.domain.access import (
    ANY_ACCESS,
    ANY_NETWORK,
    AUTO,
    COMMIT,
    ENFORCES,
    KERNEL,
    NETWORKS,
    NO_NETWORK,
    Access,
    inexact,
    is_elsewhere,
    place_of,
)
from corral.domain.bindings import ANY_PORT, BINDINGS, NO_PORT, OWN_PORTS
from corral.domain.errors import WrongUseError
from corral.domain.path_patterns import check_request, parse
from corral.domain.spec_problems import did_you_mean, one_of, shown
from corral.domain.spec_table import Table, type_word

KEYS = ("write", "read", "bind", "network", "enforce")
_ALIASES = {
    "allow_write": "write", "writable": "write", "writes": "write", "paths": "write", "files": "write",
    "readable": "read", "reads": "read", "allow_read": "read",
    "ports": "bind", "listen": "bind", "port": "bind",
    "net": "network", "internet": "network", "require": "enforce", "strict": "enforce", "by": "enforce",
}  # fmt: skip
_BIND_ALIASES = {
    "all": ANY_PORT, "free": ANY_PORT, "off": ANY_PORT,
    "block": OWN_PORTS, "leased": OWN_PORTS, "ports": OWN_PORTS, "no": NO_PORT, "nothing": NO_PORT,
}  # fmt: skip
_NETWORK_ALIASES = {"all": ANY_NETWORK, "host": ANY_NETWORK, "on": ANY_NETWORK, "off": NO_NETWORK, "no": NO_NETWORK}
_ENFORCE_ALIASES = {"landlock": KERNEL, "strict": KERNEL, "git": COMMIT, "merge": COMMIT, "hooks": COMMIT}
_WRITE_EXAMPLE = 'write = ["src/**", "tests/**"]'
_READ_EXAMPLE = 'read = ["src/**", "~/data"]'
_BIND_EXAMPLE = 'bind = "own"'
_MOST_PORTS, _LAST_PORT = 64, 65535


def read_access(agent: Table) -> tuple[Access, str]:
    """What the table says of files and the network, and of ports (`bindings`)."""
    table = agent.table("access", f"[{'.'.join(agent.path)}.access] with {_WRITE_EXAMPLE}")
    if table is None:
        return ANY_ACCESS, ANY_PORT
    table.only(KEYS, _ALIASES)
    bind = _bind(table)
    network = table.word(
        "network",
        NETWORKS,
        ANY_NETWORK,
        wrong="is nothing that the kernel can tell apart without more rights than an agent has"
        if table.data.get("network") in ("loopback", "localhost", "local")
        else "says nothing about the network",
        example=NO_NETWORK,
        aliases=_NETWORK_ALIASES,
    )
    if network == NO_NETWORK and bind not in (ANY_PORT, NO_PORT):
        table.wrong("bind", f'with network = "{NO_NETWORK}" it can listen nowhere', "leave one of the two out")
    enforce = table.word(
        "enforce", ENFORCES, AUTO, wrong="is nothing that could see to it", example=KERNEL, aliases=_ENFORCE_ALIASES
    )
    write = _paths(table, "write", _WRITE_EXAMPLE)
    read = _paths(table, "read", _READ_EXAMPLE)
    if enforce == KERNEL and write and (beyond := inexact(write)):
        table.wrong(
            "write",
            f"{shown(beyond[0])} is no directory, and the kernel knows directories only",
            f'name directories, such as "src/**", or leave enforce = "{KERNEL}" out: then commits are looked at',
        )
    for text in read or ():
        if not is_elsewhere(text) and not (parse(text).is_plain or place_of(parse(text)).exact):
            table.wrong(
                "read",
                f"{shown(text)} is neither a directory nor a file, and the kernel, which alone could see to it, knows "
                "nothing else",
                'name directories, such as "src/**", and files, such as "Makefile"',
            )
            break
    return Access(write=write, read=read, network=network, enforce=enforce), bind


def _bind(table: Table) -> str:
    value = table.data.get("bind")
    if isinstance(value, list):
        return _ports(table, value)
    if value is not None and not isinstance(value, str):
        message = f"this must be a string or an array of ports, not {type_word(type(value))}"
        table.wrong("bind", message, f"such as {_BIND_EXAMPLE} or bind = [8080]")
        return ANY_PORT
    if isinstance(value, str) and value not in BINDINGS:
        meant = did_you_mean(value, BINDINGS, _BIND_ALIASES)
        hint = f"did you mean '{meant}'? " if meant else ""
        table.wrong(
            "bind", f"{shown(value)} says nothing about ports", f"{hint}It is {one_of(BINDINGS)}, or such as [8080]"
        )
        return ANY_PORT
    return value or ANY_PORT


def _ports(table: Table, said: Sequence[object]) -> str:
    found: set[int] = set()
    for number, port in enumerate(said, 1):
        if type(port) is not int or not 1 <= port <= _LAST_PORT:
            entry = f"{port}" if type(port) is int and abs(port) < 10**9 else f"entry {number}"
            message = f"{entry} is no port, which is a number from 1 to {_LAST_PORT}"
            table.wrong("bind", message, "such as bind = [8080, 9000]")
            return ANY_PORT
        found.add(port)
    if len(found) > _MOST_PORTS:
        table.wrong("bind", f"these are {len(found)} ports", f"at most {_MOST_PORTS} can be named; {_BIND_EXAMPLE}")
        return ANY_PORT
    return ",".join(map(str, sorted(found))) or NO_PORT


def _paths(table: Table, key: str, example: str) -> tuple[str, ...] | None:
    """What may be written or read; None if it is not declared, and nothing of it if it is wrong."""
    said = table.take(key, list, example)
    if said is None:
        return None
    found: list[str] = []
    for number, text in enumerate(said, 1):
        if not isinstance(text, str):
            table.wrong(key, f"pattern {number} must be a string, not {type_word(type(text))}", f"such as {example}")
            return ()
        try:
            found.append(_elsewhere(text) if is_elsewhere(text) else _pattern(text))
        except WrongUseError as error:
            table.wrong(key, error.message, error.remedy)
            return ()
    try:
        check_request([parse(text) for text in found if not is_elsewhere(text)])
    except WrongUseError as error:
        table.wrong(key, error.message, error.remedy)
        return ()
    return tuple(dict.fromkeys(found))


def _pattern(text: str) -> str:
    pattern = parse(text)
    # It is shown on terminals, and in columns.
    if not text.isprintable():
        raise WrongUseError(f"{shown(text)} has control characters in it", f"such as {_WRITE_EXAMPLE}")
    if pattern.beginning[:1] == (".git",):
        raise WrongUseError(
            f"{shown(text)} is git's own", "leave it out: what an agent needs of it to commit is open to it anyway"
        )
    return text.removeprefix("./") or "**"


def _elsewhere(text: str) -> str:
    """A directory by its whole path, without what a pattern would have behind it."""
    path = text.removesuffix("/**").rstrip("/") or "/"
    parts = path.split("/")
    if not path.isprintable() or len(path) > 1024:
        raise WrongUseError(f"{shown(text)} is no path", "name a directory, such as /srv/data or ~/data")
    if any(c in path for c in "*?[\\"):
        raise WrongUseError(
            f"{shown(text)} has a wildcard in it, and outside the workspace the kernel alone could see to that",
            "name the directory, such as /srv/data or ~/data",
        )
    if ".." in parts or "." in parts:
        raise WrongUseError(f"{shown(text)} has . or .. as a part", "write the whole path without them")
    return path
