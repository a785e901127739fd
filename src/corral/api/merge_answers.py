"""Merges as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from corral.api.answers import Answer
from corral.domain import merge_records
from corral.domain.merge_records import name_of
from corral.domain.timestamps import timestamp
from corral.service.merges import Submitted

_Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class Merge(Answer, frozen=True):
    """A branch on its way into the target, but for what gates wrote."""

    merge: Annotated[str, Meta(description="its id, never used again")]
    team: str
    branch: str
    tip: Annotated[str, Meta(description="the commit that is merged; what is committed later is not part of it")]
    subject: str
    target: str
    repository: Annotated[str, Meta(description="where git keeps the repository that it was submitted in")]
    state: Annotated[str, Meta(description="queued, testing, landing, merged, conflict, failed, refused or cancelled")]
    step: Annotated[str, Meta(description="what is done now, or what it waits for, in words")]
    reason: Annotated[str, Meta(description="why it is at this end, in words")]
    remedy: str
    agent: Annotated[str, Meta(description="the agent whose work it is, as TEAM/AGENT; empty if it is a person's own")]
    person: Annotated[str, Meta(description="who is accountable, as the kernel names them")]
    tokens: Sequence[int]
    attempt: int
    files: Annotated[Sequence[str], Meta(description="those in conflict")]
    batch: Annotated[Sequence[str], Meta(description="with which it was tested last, itself included")]
    base: Annotated[str, Meta(description="where the target was")]
    commit: Annotated[str, Meta(description="the merge commit; in the target only if it is merged")]
    submitted_at: _Time
    changed_at: _Time
    revision: Annotated[int, Meta(description="of its last change: what `after` takes")]


class Gate(Answer, frozen=True):
    """How a gate ended."""

    command: str
    passed: bool
    exit_code: Annotated[int | None, Meta(description="null if its time was up, or nobody saw how it ended")]
    timed_out: bool
    seconds: float
    output: Annotated[str, Meta(description="the end of what it wrote")]
    omitted: Annotated[int, Meta(description="bytes before that")]
    left: Annotated[int, Meta(description="processes that it started and left; they were ended")]


class WholeMerge(Merge, frozen=True):
    """A merge with what came of its gates."""

    gates: Annotated[Sequence[Gate], Meta(description="those that ran when it was tested last")]


class Merges(Answer, frozen=True):
    """The queue of a team."""

    target: Annotated[str, Meta(description="empty if the team is not up")]
    note: Annotated[str, Meta(description="that some are of another repository than the team is up in, and so wait")]
    merges: Annotated[Sequence[Merge], Meta(description="those at an end, the oldest first, then those in line")]


class SubmittedMerge(Answer, frozen=True):
    """What became of a submission."""

    merge: Annotated[str | None, Meta(description="null if the target has all of the branch already")]
    state: str
    branch: str
    target: str
    again: Annotated[bool, Meta(description="it was in line before, with the same commit")]
    note: Annotated[str, Meta(description="what a person should know besides: work that is in no commit")]
    reason: str


def merge(found: merge_records.Merge) -> Merge:
    """One merge."""
    return Merge(**_facts(found))


def whole(found: merge_records.Merge) -> WholeMerge:
    """One merge with its gates."""
    return WholeMerge(**_facts(found), gates=[_gate(run) for run in found.gates])


def submitted(found: Submitted, now: merge_records.Merge | None) -> SubmittedMerge:
    """A submission, and what has become of it by now."""
    return SubmittedMerge(
        merge=None if now is None else now.name,
        state=merge_records.MERGED if now is None else now.state,
        branch=found.branch,
        target=found.target,
        again=found.again,
        note=found.note,
        reason=f"{found.target} has all of it already" if now is None else now.reason,
    )


def _facts(found: merge_records.Merge) -> dict[str, Any]:
    return {
        "merge": found.name,
        "team": found.team,
        "branch": found.branch,
        "tip": found.tip,
        "subject": found.subject,
        "target": found.target,
        "repository": found.repository,
        "state": found.state,
        "step": found.step,
        "reason": found.reason,
        "remedy": found.remedy,
        "agent": found.party if found.agent else "",
        "person": found.person,
        "tokens": found.tokens,
        "attempt": found.attempt,
        "files": found.files,
        "batch": [name_of(number) for number in found.batch],
        "base": found.base,
        "commit": found.commit,
        "submitted_at": timestamp(found.submitted_at),
        "changed_at": timestamp(found.changed_at),
        "revision": found.revision,
    }


def _gate(run: merge_records.GateRun) -> Gate:
    return Gate(
        command=run.command,
        passed=run.passed,
        exit_code=run.code,
        timed_out=run.timed_out,
        seconds=run.seconds,
        output=run.output,
        omitted=run.omitted,
        left=run.left,
    )
