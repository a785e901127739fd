"""What the daemon takes: bodies and queries, checked strictly before anything looks at them."""

from __future__ import annotations

import asyncio
import functools
import math
import os
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import parse_qs, parse_qsl

import msgspec
from starlette.requests import ClientDisconnect, Request

from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.identity import NOT_HEARD, PERSON, Identity
from corral.domain.records import Who
from corral.ports.dialogs import Peer
from corral.service.sight import EVERYTHING, Sight

_T = TypeVar("_T", bound=msgspec.Struct)
#: The largest honest body is a message of 1 MiB, or a corral.toml of that size with an environment.
MAX_BODY = 8 * 1024 * 1024
#: Seconds until all of a body is there; also 16 MiB over a slow ssh connection come faster.
BODY_TIME = 120.0
#: With its input as base64, a command may take this much.
MAX_EXEC_BODY = 24 * 1024 * 1024
#: The names of events, with a few stars among the letters.
_EVENT_PATTERN = re.compile(r"(?=[^*]*(?:\*[^*]*){0,3}\Z)[a-z0-9_.*-]{1,60}")
_MOST_EVENT_PATTERNS = 20
#: Agents, or recipients, that a request may name: as many as a team has. Each is looked up before anything is decided.
MOST_NAMED = 1000
#: No query is remembered that is longer.
_SHORT_QUERY = 300
#: Under which name the server notes in the state of a request which user asks, and by which connection.
CALLER = "caller"
CONNECTION = "connection"
#: Who that is, once it was found out.
IDENTITY = "identity"
#: Of a request of which nothing was found out, as in an application of a test: the user is all that is known.
_NOBODY_YET = Identity(kind=PERSON)
#: When the connection was made, in seconds after boot.
CONNECTED = "connected"
#: The connection of somebody who asks over TCP; and how an entry of the trail names that way.
FAR, VIA = "far", "via"
#: Under which names whoever decides about a request notes in it how it is to be read: its body, as bytes and taken
#: apart; which rows of a list may be told; and how to ask once more whether it may go on.
RAW, ORDER, SIGHT, AGAIN = "corral.raw", "corral.order", "corral.sight", "corral.again"
STILL = "corral.still"
#: What counts the bytes of its body.
WEIGHT = "corral.weight"
#: The trace id of its entries in the audit trail, if it acts and there is one.
TRACE = "corral.trace"
#: So often what is under way is asked about again.
STILL_SECONDS = 1.0
#: Seconds between two looks of somebody who follows.
SHORTEST_INTERVAL, DEFAULT_INTERVAL, LONGEST_INTERVAL = 0.1, 2.0, 86400.0


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every body: a field nobody knows is an error, not a guess."""


class Input(Body, frozen=True):
    """Bytes that are no text."""

    base64: bytes


def header(request: Request, name: bytes) -> str:
    """A header by its name in lower case, empty if there is none."""
    for known, value in request.scope["headers"]:
        if known == name:
            return str(value.decode("latin-1"))
    return ""


async def raw_body(request: Request, most: int = MAX_BODY) -> bytes:
    """The request's body; one that is too large is not read to its end."""
    read: bytes | None = request.scope.get(RAW)
    if read is not None:
        if len(read) > most:
            raise _too_large(most)
        return read
    said = header(request, b"content-length")
    if said.isdigit() and int(said) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(BODY_TIME):
            return await _read(request, most)
    except TimeoutError:
        why = f"the body of the request did not come within {BODY_TIME:g} seconds"
        raise WrongUseError(why, "send it at once") from None


async def _read(request: Request, most: int) -> bytes:
    pieces: list[bytes] = []
    size, more = 0, True
    weight, uid = request.scope.get(WEIGHT), caller(request).uid
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if weight is not None:
            weight.add(uid, len(pieces[-1]))
        if size > most:
            raise _too_large(most)
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _too_large(most: int) -> WrongUseError:
    return WrongUseError(f"the body of the request has more than {most} bytes", "send less")


async def body(request: Request, kind: type[_T], most: int = MAX_BODY) -> _T:
    """The request's body as `kind`, or what is wrong with it."""
    order = request.scope.get(ORDER)
    if isinstance(order, kind):
        return order  # what was decided about, and nothing else that the bytes could be read as
    try:
        return msgspec.json.decode(await raw_body(request, most), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WrongUseError(f"the body of the request does not fit: {error}", "see docs/reference/api.md") from error


def text(request: Request, name: str) -> str:
    """A query parameter, empty if it is not given."""
    return _query(request).get(name, "")


def whereabouts(request: Request) -> dict[str, str]:
    """Where the caller is, for `service.resolve`: a directory, and the `corral.toml` that is around it."""
    return {"cwd": text(request, "cwd"), "nearest": text(request, "nearest")}


def named(request: Request) -> tuple[str, str]:
    """The team and the agent of the query, for telling of a request; empty where it cannot even be read."""
    try:
        return text(request, "team"), text(request, "agent")
    except WrongUseError:
        return "", ""


def texts(request: Request, name: str) -> list[str]:
    """The values of a query parameter that may be given several times."""
    _query_string(request)
    given: list[str] = request.query_params.getlist(name)
    return given


def event_patterns(request: Request) -> list[str]:
    """The patterns for the names of events (`event`), each of a kind that is quickly tried on many names."""
    given = texts(request, "event")
    if len(given) > _MOST_EVENT_PATTERNS:
        raise WrongUseError(f"event is given {len(given)} times: {_MOST_EVENT_PATTERNS} at most are wanted")
    for pattern in given:
        if not _EVENT_PATTERN.fullmatch(pattern):
            raise WrongUseError(
                f"{pattern!r} is no pattern for the names of events",
                "a name, with up to three * for any letters: 'agent.*', '*.failed', inbox.answered",
            )
    return given


def _query_string(request: Request) -> bytes:
    """The query as it came. None with a NUL gets further: there is no name and no path with one."""
    query: bytes = request.scope["query_string"]
    if b"%00" in query:
        raise WrongUseError("the query has a NUL in it", "no name and no path has one")
    return query


def _query(request: Request) -> Mapping[str, str]:
    """The query; of what is given several times, the last counts."""
    query = _query_string(request)
    return _taken_apart_before(query) if len(query) <= _SHORT_QUERY else _taken_apart(query)


def _taken_apart(query: bytes) -> Mapping[str, str]:
    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))


#: Whoever asks often asks about the same team and agent.
_taken_apart_before = functools.lru_cache(maxsize=1024)(_taken_apart)


def file_name(request: Request, name: str) -> str:
    """A query parameter that is a path: what is no UTF-8 in it is kept, in the way in which Python has such names."""
    return (file_names(request, name) or [""])[-1]


def file_names(request: Request, name: str) -> list[str]:
    """As `file_name`, of one that may be given several times."""
    query = _query_string(request)
    given = parse_qs(query.decode("ascii", "surrogateescape"), keep_blank_values=True, errors="surrogateescape")
    return given.get(name, [])


async def file_names_in_body(request: Request) -> list[str]:
    """As `file_names`, of more than a query can have: the body has a NUL behind each."""
    return [os.fsdecode(path) for path in (await raw_body(request)).split(b"\0") if path]


def flag(request: Request, name: str, default: bool = False) -> bool:
    """A query parameter that is 0 or 1."""
    value = _query(request).get(name)
    if value is None or value == "":
        return default
    if value not in ("0", "1"):
        raise WrongUseError(f"{name}={value}: 0 or 1 is wanted")
    return value == "1"


def number(request: Request, name: str) -> float | None:
    """A query parameter that is a number; None if it is not given."""
    value = _query(request).get(name)
    if value is None or value == "":
        return None
    try:
        told = float(value)
    except ValueError:
        told = math.nan
    if not math.isfinite(told):  # a wait until infinity, or until nobody knows when, is none that was meant
        raise WrongUseError(f"{name}={value[:200]}: a number is wanted")
    return told


def interval(request: Request) -> float | None:
    """How often a stream is to go on (`every`, in seconds); None if it is not to be followed."""
    every = number(request, "every")
    if every is not None and not SHORTEST_INTERVAL <= every <= LONGEST_INTERVAL:
        raise WrongUseError(f"every={every:g}: {SHORTEST_INTERVAL:g} to {LONGEST_INTERVAL:g} seconds are wanted")
    if not flag(request, "follow"):
        return None
    return DEFAULT_INTERVAL if every is None else every


def whole_number(request: Request, name: str) -> int | None:
    """A query parameter that is a whole number from 0 on; None if it is not given."""
    value = _query(request).get(name)
    if value is None or value == "":
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise WrongUseError(f"{name}={value}: a whole number is wanted")
    return int(value)


def caller(request: Request) -> Who:
    """Who is asking: the user as the kernel names it, and the agent that it is.

    On a shared server that is proved. In an instance of one person an agent may be one by its word: see `identity`.
    """
    who, found = kernels_word(request), identity(request)
    is_agent = found.agent and found.kind not in NOT_HEARD
    return Who(user=who.user, uid=who.uid, agent=found.agent) if is_agent else who


def kernels_word(request: Request) -> Who:
    """The user who asks, whatever it is besides."""
    who: Who = request.scope["state"][CALLER]
    return who


def identity(request: Request) -> Identity:
    """What the caller is, and how that is known. A request of one that is refused reaches no handler."""
    found: Identity = request.scope["state"].get(IDENTITY, _NOBODY_YET)
    return found


def set_identity(request: Request, found: Identity) -> None:
    """Have it known who asks, from now on."""
    request.scope["state"][IDENTITY] = found


def connection(request: Request) -> socket.socket:
    """The connection by which it is asked."""
    found: socket.socket = request.scope["state"][CONNECTION]
    return found


def via(request: Request) -> str:
    """How it is asked, if not by the socket: see `domain.audit.Actor.via`."""
    found: str = request.scope["state"].get(VIA, "")
    return found


def trace(request: Request) -> str:
    """The trace id of its decision in the audit trail, for what comes of it later; empty if there is none."""
    found: str = request.scope.get(TRACE, "")
    return found


def must_be_here(request: Request, what: str) -> None:
    """Refuse somebody who asks over TCP, where nobody can tell which process that is."""
    if via(request):
        raise RefusedError(
            f"{what} is not done over TCP: from there nobody can tell a person from an agent",
            "ssh to that host, and do it there",
        )


def caller_pid(request: Request) -> int:
    """The process that asks; 0 over TCP, where nobody knows it."""
    pid: int = request.scope["client"][1]
    return pid


def peer(request: Request) -> Peer:
    """The process that asks, so that it can be told from a later one with its pid. Refused over TCP."""
    must_be_here(request, "what only people may do")
    return Peer(pid=caller_pid(request), seen=request.scope["state"][CONNECTED])


def sight(request: Request) -> Sight:
    """Which rows of a list the caller may be told of."""
    found: Sight = request.scope.get(SIGHT, EVERYTHING)
    return found


async def again(request: Request) -> None:
    """Ask once more whether the request may go on, after something was waited for. Raises DeniedError if it may not."""
    ask = request.scope.get(AGAIN)
    if ask is not None:
        await ask()


def still(request: Request) -> Callable[[], Awaitable[None]]:
    """Asks whether a request that is under way for long may go on; raises DeniedError if it may not any more."""
    found: Callable[[], Awaitable[None]] = request.scope.get(STILL, _always)
    return found


async def _always() -> None:
    """For where nothing is decided about."""
