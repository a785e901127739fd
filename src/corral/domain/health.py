"""What checks say of an agent. Pure.

What could not be checked says nothing: neither that the agent is well nor that it is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from corral.domain.spec_durations import shown_duration
from corral.domain.upkeep import Check

#: It has not been checked yet, or could not be.
UNKNOWN = "unknown"
#: It was started not long ago, and no check has succeeded yet.
STARTING = "starting"
HEALTHY, UNHEALTHY = "healthy", "unhealthy"
HEALTH = (UNKNOWN, STARTING, HEALTHY, UNHEALTHY)
#: Of an agent that nobody checks.
NOT_CHECKED = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is known of one run."""

    word: str = UNKNOWN
    #: Checks that failed in a row.
    failures: int = 0
    #: What the last one that failed said.
    detail: str = ""


def checked(known: Health, check: Check, problem: str | None, age: float) -> Health:
    """After one more check of a run that is watched for `age` seconds: it failed with a problem, or it is well (None).

    While the run starts up, failures are not counted: until a check succeeds, or its time for that is over.
    """
    if problem is None:
        return Health(word=HEALTHY)
    starts_up = known.word in (UNKNOWN, STARTING)
    if starts_up and age < check.start_timeout:
        return Health(word=STARTING, detail=problem)
    if starts_up:
        return Health(word=UNHEALTHY, failures=known.failures + 1, detail=problem)
    failures = known.failures + 1
    if failures >= check.failures:
        return Health(word=UNHEALTHY, failures=failures, detail=problem)
    return replace(known, failures=failures, detail=problem)


def in_words(health: Health, check: Check) -> str:
    """What is wrong with one whose last check failed, or why an unhealthy one is; empty if nothing is."""
    if not health.detail:
        return ""
    if health.word == STARTING:
        grace = shown_duration(check.start_timeout)
        return f"its check does not succeed yet, which counts from {grace} after its start on: {health.detail}"
    if health.word == HEALTHY:
        return f"its check fails, {health.failures} of {check.failures} times in a row that count: {health.detail}"
    if health.failures >= check.failures:
        return f"unhealthy: {health.failures} checks in a row failed, the last one: {health.detail}"
    return f"unhealthy: no check has succeeded since it was started: {health.detail}"
