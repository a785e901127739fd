"""What is told of a file. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from corral.api.answers import Answer
from corral.domain import traces
from corral.domain.timestamps import timestamp
from corral.service.who import FileTraces


class Trace(Answer, frozen=True):
    """Something that somebody did with the file, or does now."""

    time: Annotated[
        str | None,
        Meta(
            description="when it happened, or since when it is so; null if nobody knows",
            extra_json_schema={"format": "date-time"},
        ),
    ]
    what: Annotated[
        str,
        Meta(
            description="so now: changing (in a working tree, in no commit), holds (a lease), claims (a task that "
            "names the file). Happened: committed, and events of the journal without their first word, such as "
            "granted, released, expired, claimed, done"
        ),
    ]
    now: Annotated[bool, Meta(description="it is so now")]
    agent: Annotated[str | None, Meta(description="TEAM/AGENT; null if it was a person, or nobody knows which agent")]
    person: Annotated[str | None, Meta(description="the person who is accountable; of a commit, its author")]
    path: Annotated[str, Meta(description="the name that the file had then")]
    detail: Annotated[str, Meta(description="the subject of the commit, the title of the task, the mode of the lease")]
    commit: str | None
    branch: Annotated[str | None, Meta(description="the agent's branch that the commit was made on, if it is known")]
    lease: str | None
    pattern: Annotated[str | None, Meta(description="of the lease, the pattern that names the file")]
    task: str | None
    workspace: Annotated[str | None, Meta(description="the working tree in which it is being changed")]


class Traces(Answer, frozen=True):
    """What there is to tell of a file."""

    path: Annotated[str, Meta(description="from the top of the repository; bytes that are no UTF-8 as \\xNN")]
    traces: Annotated[list[Trace], Meta(description="what is so now, then what happened, the newest first")]
    more: Annotated[int, Meta(description="how many more there are than were asked for")]
    unseen: Annotated[Sequence[str], Meta(description="what could not be looked at, and why")]


def found(file: FileTraces) -> Traces:
    """All of it."""
    return Traces(
        path=traces.shown(file.path),
        traces=[_trace(one) for one in file.traces],
        more=file.more,
        unseen=file.unseen,
    )


def _trace(one: traces.Trace) -> Trace:
    return Trace(
        time=None if one.time is None else timestamp(one.time),
        what=one.what,
        now=traces.is_now(one),
        agent=one.agent or None,
        person=one.person or None,
        path=traces.shown(one.path),
        detail=one.detail,
        commit=one.commit or None,
        branch=one.branch or None,
        lease=one.lease or None,
        pattern=one.pattern or None,
        task=one.task or None,
        workspace=one.workspace or None,
    )
