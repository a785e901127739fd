"""Topics as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from corral.api.answers import Answer
from corral.api.kv_answers import text_of
from corral.domain.timestamps import timestamp
from corral.service import topics


class Appended(Answer, frozen=True):
    """What was published is on the disk."""

    revision: int


class Entry(Answer, frozen=True):
    """Something that was published."""

    topic: str
    revision: Annotated[int, Meta(description="to go on from: what comes after it has a greater one")]
    time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    by: Annotated[str, Meta(description="the agent as TEAM/AGENT, or the person")]
    text: str
    encoding: Annotated[str | UnsetType, Meta(description="`base64` if the bytes are no UTF-8; else not there")] = UNSET


class Page(Answer, frozen=True):
    """Some entries of a topic."""

    topic: str
    entries: list[Entry]
    next: Annotated[int, Meta(description="the revision to go on from: nothing in between is missed")]


def entry(topic: str, published: topics.Published) -> Entry:
    """One entry."""
    text, encoding = text_of(published.data)
    return Entry(
        topic=topic,
        revision=published.revision,
        time=timestamp(published.time),
        by=published.by,
        text=text,
        encoding=encoding,
    )


def page(topic: str, found: topics.Page) -> Page:
    """A page of them."""
    return Page(topic=topic, entries=[entry(topic, one) for one in found.entries], next=found.next)
