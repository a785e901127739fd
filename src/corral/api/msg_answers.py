"""Messages as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypedDict

from msgspec import Meta, field

from corral.api.answers import Answer
from corral.domain import msg
from corral.domain.msg_parties import shown
from corral.domain.timestamps import timestamp

_LONGEST_PREVIEW = 120


class Recipient(Answer, frozen=True):
    """How far a message got with one recipient."""

    to: Annotated[str, Meta(description="an agent as TEAM/AGENT, or a person as @NAME")]
    state: Annotated[str, Meta(description="stored, injected, read or acked")]
    injected_at: Annotated[str | None, Meta(extra_json_schema={"format": "date-time"})]
    read_at: Annotated[str | None, Meta(extra_json_schema={"format": "date-time"})]
    acked_at: Annotated[str | None, Meta(extra_json_schema={"format": "date-time"})]
    note: Annotated[str, Meta(description="what the recipient said when it acked")]


class Sent(Answer, frozen=True):
    """A message that was sent; it is on the disk."""

    message: Annotated[str, Meta(description="its id, such as m41")]
    recipients: list[Recipient]


class _Head(Answer, frozen=True):
    message: str
    from_: str = field(name="from")
    to: list[str]
    subject: str
    reply_to: Annotated[str | None, Meta(description="the message that it answers")]
    time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    bytes: int


class _HeadFields(TypedDict):
    message: str
    from_: str
    to: list[str]
    subject: str
    reply_to: str | None
    time: str
    bytes: int


class Received(_Head, frozen=True):
    """A message in a mailbox."""

    state: Annotated[str, Meta(description="how far it got with the owner of the mailbox")]
    preview: Annotated[str, Meta(description="the beginning of its first line")]


class Inbox(Answer, frozen=True):
    """What is in a mailbox and not acked, the oldest first."""

    messages: list[Received]
    unread: Annotated[int, Meta(description="how many were not read, those that are not shown included")]
    unacked: Annotated[int, Meta(description="how many are not acked, those that are not shown included")]


class SentMessage(_Head, frozen=True):
    """A message that one sent."""

    preview: str
    recipients: list[Recipient]


class SentMessages(Answer, frozen=True):
    """What one sent and what is still kept, the oldest first."""

    messages: list[SentMessage]


class Message(_Head, frozen=True):
    """A message as a whole."""

    text: str
    recipients: list[Recipient]


def recipients(found: Iterable[tuple[str, msg.Delivery]]) -> list[Recipient]:
    """How far it got with each."""
    return [
        Recipient(
            to=shown(party),
            state=delivery.state,
            injected_at=_moment(delivery.injected_at),
            read_at=_moment(delivery.read_at),
            acked_at=_moment(delivery.acked_at),
            note=delivery.note,
        )
        for party, delivery in found
    ]


def sent(message: msg.Message, found: Iterable[tuple[str, msg.Delivery]]) -> Sent:
    """What the sender is told."""
    return Sent(message=msg.name_of(message.number), recipients=recipients(found))


def received(message: msg.Message, delivery: msg.Delivery) -> Received:
    """A line of a mailbox."""
    return Received(**_head(message), state=delivery.state, preview=_preview(message))


def sent_message(message: msg.Message, found: Iterable[tuple[str, msg.Delivery]]) -> SentMessage:
    """A line of what one sent."""
    return SentMessage(**_head(message), preview=_preview(message), recipients=recipients(found))


def whole(message: msg.Message, found: Sequence[tuple[str, msg.Delivery]]) -> Message:
    """All of it."""
    return Message(**_head(message), text=message.text, recipients=recipients(found))


def _head(message: msg.Message) -> _HeadFields:
    return {
        "message": msg.name_of(message.number),
        "from_": shown(message.sender),
        "to": [shown(party) for party in message.recipients],
        "subject": message.subject,
        "reply_to": msg.name_of(message.reply_to) if message.reply_to else None,
        "time": timestamp(message.time),
        "bytes": message.size,
    }


def _preview(message: msg.Message) -> str:
    line = message.text[: 4 * _LONGEST_PREVIEW].strip().split("\n", 1)[0]
    return line if len(line) <= _LONGEST_PREVIEW else line[: _LONGEST_PREVIEW - 1] + "…"


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(seconds)
