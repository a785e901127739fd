"""Values as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from corral.api.answers import Answer
from corral.domain import kv
from corral.domain.process_output import BASE64
from corral.domain.timestamps import timestamp
from corral.service.kv import Seen


class Value(Answer, frozen=True):
    """A value."""

    key: str
    value: str
    revision: Annotated[int, Meta(description="of the change that put it there: what --if-revision takes")]
    created_revision: Annotated[int, Meta(description="of the change that made the key")]
    by: Annotated[str, Meta(description="the agent as TEAM/AGENT, or the person")]
    time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    encoding: Annotated[str | UnsetType, Meta(description="`base64` if the bytes are no UTF-8; else not there")] = UNSET


class Values(Answer, frozen=True):
    """Values at one moment."""

    revision: Annotated[int, Meta(description="to watch from: no change in between is missed")]
    values: list[Value]


class Changed(Answer, frozen=True):
    """What a transaction did."""

    revision: int
    changed: Annotated[Sequence[str], Meta(description="the keys that it put or removed")]


class ChangedKey(Answer, frozen=True):
    """One key of a change."""

    key: str
    value: Annotated[str | None, Meta(description="null if it was removed")]
    encoding: Annotated[str | UnsetType, Meta(description="`base64` if the bytes are no UTF-8; else not there")] = UNSET


class Change(Answer, frozen=True):
    """All that one transaction did."""

    revision: int
    time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    by: str
    changes: list[ChangedKey]


class Changes(Answer, frozen=True):
    """Some changes, in order."""

    changes: list[Change]
    next: Annotated[int, Meta(description="the revision to go on from: nothing in between is missed")]


def value(key: str, found: kv.Value) -> Value:
    """One value."""
    text, encoding = text_of(found.value)
    return Value(
        key=key,
        value=text,
        revision=found.revision,
        created_revision=found.created,
        by=found.by,
        time=timestamp(found.time),
        encoding=encoding,
    )


def change(seen: Seen) -> Change:
    """One change."""
    return Change(
        revision=seen.revision,
        time=timestamp(seen.time),
        by=seen.by,
        changes=[_changed(one.key, one.value) for one in seen.changes],
    )


def _changed(key: str, data: bytes | None) -> ChangedKey:
    if data is None:
        return ChangedKey(key=key, value=None)
    text, encoding = text_of(data)
    return ChangedKey(key=key, value=text, encoding=encoding)


def text_of(data: bytes) -> tuple[str, str | UnsetType]:
    """Bytes as text where they are some, else in base64; and which of these."""
    try:
        return data.decode(), UNSET
    except UnicodeDecodeError:
        return binascii.b2a_base64(data, newline=False).decode("ascii"), BASE64
