"""What is asked about tasks."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api.requests import Body
from corral.domain.task_records import DEFAULT_ATTEMPTS, DEFAULT_BACKOFF, DEFAULT_TTL, NewTask

_Token = Annotated[int, Meta(description="of the claim; one that is over is refused")]
_NoteText = Annotated[str, Meta(description="what others should know, kept with the task")]


class NewTaskBody(Body, frozen=True):
    """`POST /v1/tasks`"""

    title: Annotated[str, Meta(description="what is to be done, in a line")]
    body: Annotated[str, Meta(description="all that whoever claims it must know, at most 64 KiB")] = ""
    priority: Annotated[int, Meta(description="greater is sooner, -1000 to 1000")] = 0
    labels: Annotated[tuple[str, ...], Meta(description="only who has all of them can claim it")] = ()
    after: Annotated[tuple[str, ...], Meta(description="tasks that must be done before it")] = ()
    before: Annotated[tuple[str, ...], Meta(description="tasks that it must be done before")] = ()
    key: Annotated[str, Meta(description="a name of the caller's choice: the same key is the same task")] = ""
    max_attempts: Annotated[int, Meta(description="so many attempts, then it is dead")] = DEFAULT_ATTEMPTS
    backoff: Annotated[
        float, Meta(description="seconds after the first attempt that failed; twice as many after each further one")
    ] = DEFAULT_BACKOFF

    def task(self) -> NewTask:
        return NewTask(
            title=self.title,
            body=self.body,
            priority=self.priority,
            labels=self.labels,
            after=self.after,
            before=self.before,
            key=self.key,
            max_attempts=self.max_attempts,
            backoff=self.backoff,
        )


class ClaimBody(Body, frozen=True):
    """`POST /v1/tasks/claim`"""

    labels: Annotated[
        tuple[str, ...], Meta(description="what the claimer can do: it gets tasks that ask for no more")
    ] = ()
    ttl: Annotated[float, Meta(description="seconds that the claim holds after the last sign of life, 1 to 86400")] = (
        DEFAULT_TTL
    )
    wait: Annotated[float, Meta(description="seconds to wait for a task, if there is none")] = 0.0


class RenewBody(Body, frozen=True):
    """`POST /v1/tasks/{task}/renew`"""

    token: _Token
    note: _NoteText = ""


class DoneBody(Body, frozen=True):
    """`POST /v1/tasks/{task}/done`"""

    token: _Token
    result: Annotated[str, Meta(description="what came of it, at most 64 KiB")] = ""
    note: _NoteText = ""


class FailBody(Body, frozen=True):
    """`POST /v1/tasks/{task}/fail`"""

    token: _Token
    note: Annotated[str, Meta(description="why, for whoever tries next; kept with the task")] = ""
    final: Annotated[bool, Meta(description="nobody shall try again: it is dead at once")] = False


class ReleaseBody(Body, frozen=True):
    """`POST /v1/tasks/{task}/release`"""

    token: Annotated[
        int | None, Meta(description="of the claim to give back; null is about a task that nobody has claimed")
    ] = None
    note: _NoteText = ""
