"""Entries of the inbox as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, structs

from corral.api.answers import Answer
from corral.domain.inbox_answers import instead, ways
from corral.domain.inbox_records import Entry as Known
from corral.domain.timestamps import timestamp

_When = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
_Lines = Annotated[Sequence[str], Meta(description="what it is about, as it was on the screen")]


class Option(Answer, frozen=True):
    """A choice that the dialog numbers."""

    option: int
    text: str


class Entry(Answer, frozen=True):
    """Something that waits for a person."""

    entry: Annotated[int, Meta(description="its number, never used again")]
    team: str
    agent: Annotated[str, Meta(description="empty if it is about a person's own merge")]
    kind: Annotated[str, Meta(description="permission, question, trust, login, quota, conflict, failed or stuck")]
    state: Annotated[str, Meta(description="open, claimed, snoozed, answering, answered or gone")]
    since: _When
    changed_at: _When
    what: Annotated[str, Meta(description="in one line")]
    can: Annotated[Sequence[str], Meta(description="ways to answer it: approve, deny, option, text")]
    options: Sequence[Option]
    remedy: Annotated[str, Meta(description="what a person can do about it")]
    by: Annotated[str, Meta(description="who claimed, snoozed or answered it; else empty")]
    until: Annotated[str | None, Meta(description="when a claim or a rest is over")]
    answer: Annotated[str, Meta(description="approve, deny, a number, or text; empty unless it was answered")]
    outcome: Annotated[str, Meta(description="proved, or unknown if nobody saw what came of the answer")]
    lines: _Lines


class WholeEntry(Entry, frozen=True):
    """The same, with the whole screen."""

    screen: Annotated[Sequence[str], Meta(description="the whole screen as it was, up to 100 lines")]


class Entries(Answer, frozen=True):
    """Entries, oldest first."""

    waiting: Annotated[int, Meta(description="how many wait and do not rest, of all that were asked for")]
    entries: list[Entry]


def entry(known: Known) -> Entry:
    """One entry, as a list has it."""
    cause = known.cause
    return Entry(
        entry=known.number,
        team=cause.team,
        agent=cause.agent,
        kind=cause.kind,
        state=known.state,
        since=timestamp(known.since),
        changed_at=timestamp(known.changed),
        what=cause.what,
        can=ways(known),
        options=[Option(option=choice.number, text=choice.text) for choice in cause.choices],
        remedy=instead(known),
        by=known.by,
        until=timestamp(known.until) if known.until else None,
        answer=known.answer,
        outcome=known.outcome,
        lines=cause.lines,
    )


def whole(known: Known) -> WholeEntry:
    """One entry with its screen."""
    return WholeEntry(**structs.asdict(entry(known)), screen=known.cause.screen)
