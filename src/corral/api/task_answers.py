"""Tasks as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from corral.api.answers import Answer
from corral.domain.timestamps import timestamp
from corral.service.tasks import Seen

_Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class Added(Answer, frozen=True):
    """A task that is on the disk."""

    task: Annotated[str, Meta(description="its id, never used again")]
    added: Annotated[bool, Meta(description="false if a task with this key was there before: it is that one")]


class Removed(Answer, frozen=True):
    """A task that is forgotten."""

    task: str
    removed: bool


class Note(Answer, frozen=True):
    """What somebody had to say about a task."""

    time: _Time
    by: str
    text: str


class Claimed(Answer, frozen=True):
    """A claim that is on the disk."""

    task: str
    token: Annotated[int, Meta(description="proves this claim; greater than that of every claim before")]
    title: str
    body: str
    attempt: Annotated[int, Meta(description="1 for the first; more after attempts that failed or lapsed")]
    max_attempts: int
    priority: int
    labels: Sequence[str]
    by: Annotated[str, Meta(description="whose it is: the agent as TEAM/AGENT, or the person")]
    added_by: str
    expires_at: Annotated[
        _Time | None,
        Meta(description="when it lapses if nothing is heard; while the agent lives that moves on by itself"),
    ]
    notes: Annotated[Sequence[Note], Meta(description="what was said of it before")]


class Task(Answer, frozen=True):
    """A task, but for what it says at length."""

    task: str
    title: str
    state: Annotated[str, Meta(description="ready, waiting, delayed, claimed, done or dead")]
    priority: int
    labels: Sequence[str]
    attempt: int
    max_attempts: int
    added_by: Annotated[str, Meta(description="the agent as TEAM/AGENT, or the person")]
    added_at: _Time
    changed_at: _Time
    claimed_by: Annotated[str | None, Meta(description="whose it is now; null if nobody's")]
    token: Annotated[int | None, Meta(description="of the claim; null if there is none")]
    until: Annotated[_Time | None, Meta(description="when the claim would lapse, or the next attempt can come")]
    waits_for: Annotated[Sequence[str], Meta(description="tasks that it needs and that are not done")]
    lacking: Annotated[
        Sequence[str],
        Meta(description="labels that it asks for and no agent of the team has; all, if none has them together"),
    ]


class WholeTask(Task, frozen=True):
    """A task with all that it says."""

    body: str
    result: str
    needs: Annotated[Sequence[str], Meta(description="all tasks that had to be done before it")]
    key: str
    notes: Sequence[Note]


class Tasks(Answer, frozen=True):
    """Tasks at one moment."""

    tasks: list[Task]
    more: Annotated[int, Meta(description="how many more there are than were asked for")]


def claimed(seen: Seen) -> Claimed:
    """A claim that was made."""
    task = seen.task
    assert task.claim is not None
    return Claimed(
        task=task.id,
        token=task.claim.token,
        title=task.title,
        body=task.body,
        attempt=task.attempt,
        max_attempts=task.max_attempts,
        priority=task.priority,
        labels=task.labels,
        by=task.claim.by,
        added_by=task.by,
        expires_at=_at(seen.until),
        notes=_notes(seen),
    )


def task(seen: Seen) -> Task:
    """One task of several."""
    found, claim = seen.task, seen.task.claim
    return Task(
        task=found.id,
        title=found.title,
        state=seen.state,
        priority=found.priority,
        labels=found.labels,
        attempt=found.attempt,
        max_attempts=found.max_attempts,
        added_by=found.by,
        added_at=timestamp(found.added),
        changed_at=timestamp(found.time),
        claimed_by=claim.by if claim is not None else None,
        token=claim.token if claim is not None else None,
        until=_at(seen.until),
        waits_for=seen.missing,
        lacking=seen.lacking,
    )


def whole(seen: Seen) -> WholeTask:
    """One task."""
    found = seen.task
    return WholeTask(
        **msgspec.structs.asdict(task(seen)),
        body=found.body,
        result=found.result,
        needs=[f"t{need}" for need in found.needs],
        key=found.key,
        notes=_notes(seen),
    )


def _at(time: float | None) -> str | None:
    return None if time is None else timestamp(time)


def _notes(seen: Seen) -> list[Note]:
    return [Note(time=timestamp(note.time), by=note.by, text=note.text) for note in seen.task.notes]
