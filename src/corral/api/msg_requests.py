"""The bodies of requests about messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api.requests import MOST_NAMED, Body


class MessageBody(Body, frozen=True):
    """`POST /v1/messages`: what to say, and to whom"""

    text: Annotated[str, Meta(description="the message, at most 1 MiB of UTF-8")]
    to: Annotated[
        tuple[str, ...],
        Meta(
            max_length=MOST_NAMED,
            description="AGENT, TEAM/AGENT, @PERSON, role:TABLE or all; none with `reply_to` means the sender of that",
        ),
    ] = ()
    subject: Annotated[str, Meta(description="what it is about, in one line of at most 200 bytes")] = ""
    reply_to: Annotated[str, Meta(description="the message that it answers")] = ""
    key: Annotated[
        str, Meta(description="a name of the sender's choice: the same key is the same message, sent once")
    ] = ""


class AckBody(Body, frozen=True):
    """`POST /v1/messages/{message}/ack`: what there is to say about it"""

    note: Annotated[str, Meta(description="for the sender, at most 4096 bytes")] = ""
