"""An entry of the audit trail: what it says, its canonical bytes, and the hash that ties it to the one before. Pure.

An entry is one line of JSON. Its *canonical bytes* are the object without its own hash, the keys in the order of
`_body`, in ASCII and without blanks. `previous` is the hash of the entry before, `hash` the SHA-256 of the canonical
bytes; so a hash vouches for everything up to it. What is checked are the bytes as they are in the file, never bytes
that were made anew from what they seem to say: there is no second spelling of an entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

#: What the first entry has in the place of the hash of the one before.
GENESIS = "0" * 64
#: No line is longer, its line end included: what goes into one is bounded (`audit_detail`).
LONGEST_LINE = 16 << 10

# What a thing is that something is done to.
HOST = "host"
TEAM = "team"
AGENT = "agent"

#: The verb of what is asked for in a way that no route fits, and of many things together.
UNKNOWN = "unknown"

# Entries of the trail about itself.
OPENED = "audit.opened"
RECOVERED = "audit.recovered"
CLOSED = "audit.closed"

#: So `via` of who asks over TCP begins.
TCP = "tcp"

Scalar = str | int | bool | None

_HASH = b',"hash":"'
_END = b'"}'
_DIGITS = 64
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did it: the OS user as the kernel or a token names it, whether that is a member and of which role, and the
    agent and its run, if any."""

    uid: int
    user: str
    member: bool = False
    role: str = ""
    agent: str = ""
    run: str = ""
    #: How it was asked, if not by the socket: `tcp`, or with a token `tcp:` and its id. Other entries lack it.
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """On what it was done."""

    kind: str = HOST
    team: str = ""
    agent: str = ""


#: The trail itself, about itself.
ITSELF = Actor(uid=-1, user="corral")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What an entry says, before it has its place in the trail. Texts and detail are bounded by whoever makes one."""

    #: RFC 3339 in UTC.
    time: str
    who: Actor
    verb: str
    on: Target
    allowed: bool
    #: The name of the rule that decided; empty if none was asked.
    rule: str = ""
    #: What came of it. Empty in a decision whose outcome is an entry of its own, or was never learned.
    outcome: str = ""
    detail: Mapping[str, Scalar] = field(default_factory=dict)
    #: The same in a decision and in its outcome, and in no other entries: letters, digits and dashes.
    trace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the trail."""

    number: int
    note: Note
    #: The hash of the entry before.
    previous: str
    hash: str


def sealed(number: int, note: Note, previous: str) -> tuple[bytes, str]:
    """The line of an entry that follows the one with the hash `previous`, with its line end; and the entry's hash."""
    body = canonical(number, note, previous)
    digest = hashlib.sha256(body).hexdigest()
    return body[:-1] + _HASH + digest.encode("ascii") + _END + b"\n", digest


def canonical(number: int, note: Note, previous: str) -> bytes:
    """The bytes that the hash of an entry is made of: `_body` as JSON.

    Put together from its parts, of which most are the same in many entries: every request is written down.
    """
    detail = _encode_text(dict(note.detail)) if note.detail else "{}"
    return (
        f'{{"number":{number},"time":"{note.time}","who":{_who(note.who)},"verb":{_text_of(note.verb)},'
        f'"on":{_on(note.on)},"allowed":{"true" if note.allowed else "false"},"rule":{_text_of(note.rule)},'
        f'"outcome":{_text_of(note.outcome)},"detail":{detail},"trace":"{note.trace}","previous":"{previous}"}}'
    ).encode("ascii")


def read(line: bytes) -> Entry | str:
    """The entry that a line is, without its line end; or in words why it is none.

    Whoever gets an entry has one whose hash fits its bytes.
    """
    at = len(line) - len(_END) - _DIGITS - len(_HASH)
    if at < 1 or not line.endswith(_END) or line[at : at + len(_HASH)] != _HASH:
        return "it does not have the form of an entry"
    told = line[at + len(_HASH) : -len(_END)].decode("ascii", "replace")
    if hashlib.sha256(line[:at] + b"}").hexdigest() != told:
        return "its bytes do not fit its hash"
    try:
        return _entry(json.loads(line))
    except (ValueError, KeyError, TypeError, RecursionError):
        return "its hash fits, and it does not have the fields of an entry"


def as_object(entry: Entry) -> dict[str, object]:
    """The entry as `corral audit` prints it with `--json`: the object that the line is."""
    return {**_body(entry.number, entry.note, entry.previous), "hash": entry.hash}


def is_hash(value: object) -> bool:
    """True for the hexadecimal digits of a SHA-256."""
    return isinstance(value, str) and len(value) == _DIGITS and set(value) <= _HEX


def _body(number: int, note: Note, previous: str) -> dict[str, object]:
    return {
        "number": number,
        "time": note.time,
        "who": _who_object(note.who),
        "verb": note.verb,
        "on": _on_object(note.on),
        "allowed": note.allowed,
        "rule": note.rule,
        "outcome": note.outcome,
        "detail": dict(note.detail),
        "trace": note.trace,
        "previous": previous,
    }


def _who_object(who: Actor) -> dict[str, object]:
    whose = {"uid": who.uid, "user": who.user, "member": who.member, "role": who.role}
    return {**whose, "agent": who.agent, "run": who.run, **({"via": who.via} if who.via else {})}


def _on_object(on: Target) -> dict[str, object]:
    return {"kind": on.kind, "team": on.team, "agent": on.agent}


_encode_text = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


@lru_cache(maxsize=256)
def _who(who: Actor) -> str:
    return _encode_text(_who_object(who))


@lru_cache(maxsize=1024)
def _on(on: Target) -> str:
    return _encode_text(_on_object(on))


@lru_cache(maxsize=1024)
def _text_of(text: str) -> str:
    return _encode_text(text)


def from_object(body: Mapping[str, object]) -> Entry:
    """The entry that an object of `as_object` is; ValueError, KeyError or TypeError if it is none."""
    return _entry(body)


def _entry(body: object) -> Entry:
    fields = _object(body)
    who, on, detail = _object(fields["who"]), _object(fields["on"]), _object(fields["detail"])
    for key, value in detail.items():
        if value is not None and not isinstance(value, str | int):
            raise TypeError(key)
    return Entry(
        number=_number(fields["number"]),
        note=Note(
            time=_text(fields["time"]),
            who=Actor(
                uid=_number(who["uid"]),
                user=_text(who["user"]),
                member=_flag(who["member"]),
                role=_text(who.get("role", "")),
                agent=_text(who["agent"]),
                run=_text(who["run"]),
                via=_text(who.get("via", "")),
            ),
            verb=_text(fields["verb"]),
            on=Target(kind=_text(on["kind"]), team=_text(on["team"]), agent=_text(on["agent"])),
            allowed=_flag(fields["allowed"]),
            rule=_text(fields["rule"]),
            outcome=_text(fields["outcome"]),
            detail={key: value for key, value in detail.items() if value is None or isinstance(value, str | int)},
            trace=_text(fields["trace"]),
        ),
        previous=_text(fields["previous"]),
        hash=_text(fields["hash"]),
    )


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError("an object is wanted")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is wanted")
    return value


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError("a whole number is wanted")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false is wanted")
    return value
