"""Entries of the audit trail in the words of other logs: syslog (RFC 5424) and journald's export format. Pure."""

from __future__ import annotations

import struct
from datetime import datetime

from corral.domain.audit import Entry, Scalar

IDENTIFIER = "corral-audit"
#: "log audit" of RFC 5424.
_FACILITY = 13
_WARNING, _NOTICE, _INFO = 4, 5, 6
#: The number that RFC 5612 sets aside for documentation: we have none of our own.
_STRUCTURED_ID = "corral@32473"
_LONGEST_HOST, _LONGEST_ID = 255, 32
#: Of the name of a fact: behind `detail_` it is no longer than RFC 5424 lets a name be.
_LONGEST_NAME = 25
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def syslog(entry: Entry, host: str) -> bytes:
    """One line of RFC 5424, with its end; whatever is in the entry, it stays one line."""
    said = {**_facts(entry), **{f"detail_{name}": value for name, value in _details(entry).items()}}
    facts = " ".join(f'{name}="{_escaped(value)}"' for name, value in said.items() if value)
    head = f"<{_FACILITY * 8 + _severity(entry)}>1 {entry.note.time}"
    words = (_word(host, _LONGEST_HOST), IDENTIFIER, "-", _word(entry.note.verb, _LONGEST_ID))
    return f"{head} {' '.join(words)} [{_STRUCTURED_ID} {facts}] {_plain(sentence(entry))}\n".encode()


def journald(entry: Entry, host: str) -> bytes:
    """One entry of journald's export format (`systemd-journal-remote` reads it), with the blank line behind it."""
    moment = int(datetime.fromisoformat(entry.note.time).timestamp() * 1_000_000)
    fields = {
        "__REALTIME_TIMESTAMP": str(moment),
        "_HOSTNAME": host,
        "MESSAGE": sentence(entry),
        "PRIORITY": str(_severity(entry)),
        "SYSLOG_FACILITY": str(_FACILITY),
        "SYSLOG_IDENTIFIER": IDENTIFIER,
        **{f"CORRAL_{name.upper()}": value for name, value in _facts(entry).items() if value},
        **{f"CORRAL_DETAIL_{name.upper()}": value for name, value in _details(entry).items()},
    }
    return b"".join(_field(name, value) for name, value in fields.items()) + b"\n"


def sentence(entry: Entry) -> str:
    """What happened, for people."""
    note = entry.note
    who = f"{note.who.agent} of {note.who.user}" if note.who.agent else note.who.user
    thing = "/".join(part for part in (note.on.team, note.on.agent) if part) or note.on.kind
    how = "allowed" if note.allowed else "denied"
    by = f" by {note.rule}" if note.rule else ""
    came = f", outcome {note.outcome}" if note.outcome else ""
    said = ", ".join(f"{name} {_fact(value)}" for name, value in note.detail.items())
    return f"{who} (uid {note.who.uid}): {note.verb} on {thing} {how}{by}{came}{f' ({said})' if said else ''}"


def _facts(entry: Entry) -> dict[str, str]:
    note = entry.note
    return {
        "number": str(entry.number),
        "uid": str(note.who.uid),
        "user": note.who.user,
        "member": "true" if note.who.member else "false",
        "role": note.who.role,
        "agent": note.who.agent,
        "run": note.who.run,
        **({"via": note.who.via} if note.who.via else {}),
        "verb": note.verb,
        "on_kind": note.on.kind,
        "on_team": note.on.team,
        "on_agent": note.on.agent,
        "allowed": "true" if note.allowed else "false",
        "rule": note.rule,
        "outcome": note.outcome,
        "trace": note.trace,
        "hash": entry.hash,
    }


def _details(entry: Entry) -> dict[str, str]:
    """The facts of an entry, under names that every log takes. Those of two names that become one are both kept."""
    found: dict[str, str] = {}
    for name, value in entry.note.detail.items():
        clean = "".join(letter if letter in _IN_NAMES else "_" for letter in name.lower()[:_LONGEST_NAME])
        found[clean] = f"{found[clean]}, {_fact(value)}" if clean in found else _fact(value)
    return found


def _fact(value: Scalar) -> str:
    """A fact as JSON has it, but for texts, which are as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _severity(entry: Entry) -> int:
    if not entry.note.allowed:
        return _WARNING
    return _INFO if entry.note.outcome in ("", "ok") or entry.note.outcome.startswith("2") else _NOTICE


def _word(text: str, most: int) -> str:
    """A field of the head: visible ASCII without blanks."""
    return "".join(letter if "!" <= letter <= "~" else "_" for letter in text[:most]) or "-"


def _escaped(text: str) -> str:
    return _plain(text).replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def _plain(text: str) -> str:
    """`text` without what could end a line, or be none of UTF-8."""
    return "".join(letter if letter.isprintable() else f"<{ord(letter):04x}>" for letter in text)


def _field(name: str, value: str) -> bytes:
    data = value.encode("utf-8", "backslashreplace")
    if value.isprintable():
        return name.encode() + b"=" + data + b"\n"
    # What may hold a line end says how long it is.
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"
