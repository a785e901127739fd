"""Messages in words and tables. What others wrote is shown without what could act on a terminal."""

from collections.abc import Sequence

from corral.cli.output import plain
from corral.cli.table import lines
from corral.client.answers import Record


def inbox_table(messages: Sequence[Record]) -> Sequence[str]:
    """A line a message; none if there are none."""
    rows = [[_of(one, "message"), _of(one, "from"), _of(one, "state"), _about(one)] for one in messages]
    return lines([["ID", "FROM", "STATE", "ABOUT"], *rows]) if rows else ()


def sent_table(messages: Sequence[Record]) -> Sequence[str]:
    """A line a message and recipient; none if there are none."""
    rows = [
        [_of(message, "message"), _of(one, "to"), _of(one, "state"), _of(one, "note") or _about(message)]
        for message in messages
        for one in _recipients(message)
    ]
    return lines([["ID", "TO", "STATE", "NOTE OR SUBJECT"], *rows]) if rows else ()


def message_text(message: Record, *, with_states: bool) -> str:
    """The whole message, with how far it got if that is wanted."""
    head = [f"{_of(message, 'message')} from {_of(message, 'from')}, {_of(message, 'time')}"]
    if message.get("reply_to"):
        head.append(f"answers {_of(message, 'reply_to')}")
    if message.get("subject"):
        head.append(f"subject: {_of(message, 'subject')}")
    if with_states:
        for one in _recipients(message):
            note = f": {_of(one, 'note')}" if one.get("note") else ""
            head.append(f"{_of(one, 'to')}: {_of(one, 'state')}{note}")
    return "\n".join([*head, "", plain(str(message.get("text"))).rstrip("\n")])


def _about(message: Record) -> str:
    text = _of(message, "subject") or _of(message, "preview")
    return text if len(text) <= 60 else text[:59] + "…"


def _of(record: Record, name: str) -> str:
    return plain(str(record.get(name) or "")).replace("\n", " ").replace("\t", " ")


def _recipients(message: Record) -> list[Record]:
    found = message.get("recipients")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
