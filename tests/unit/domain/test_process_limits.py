"""Limits on commands: what they are where nobody says otherwise, how they are split, stored and compared."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.process_limits import (
    DEFAULT_PROCESS_LIMITS,
    PROCESS_LIMIT_NAMES,
    ProcessLimits,
    process_limit_differences,
    process_limits_as_json,
)
from corral.domain.records import Team

ANY = st.builds(ProcessLimits, **{name: st.integers(1, 2**40) for name in PROCESS_LIMIT_NAMES})


def test_the_names_are_the_keys_of_the_file() -> None:
    assert PROCESS_LIMIT_NAMES == ("running", "output", "records", "disk")


def test_what_holds_where_nobody_says_otherwise() -> None:
    assert process_limits_as_json(DEFAULT_PROCESS_LIMITS) == {
        "running": 2048,
        "output": 8 << 20,
        "records": 200,
        "disk": 512 << 20,
    }
    assert (DEFAULT_PROCESS_LIMITS.head, DEFAULT_PROCESS_LIMITS.tail) == (1 << 20, 7 << 20)


@given(ANY)
def test_an_eighth_of_the_output_is_its_beginning_and_not_a_byte_gets_lost(limits: ProcessLimits) -> None:
    assert limits.head + limits.tail == limits.output
    assert limits.head == limits.output // 8


@given(ANY)
def test_what_was_stored_comes_back(limits: ProcessLimits) -> None:
    assert ProcessLimits(**json.loads(json.dumps(process_limits_as_json(limits)))) == limits
    team = Team(name="a", file="/a", directory="/", repo=None, created_at=0.0, processes=limits)
    assert msgspec.json.decode(msgspec.json.encode(team), type=Team) == team


@given(ANY, ANY)
def test_what_differs_is_named_by_its_key(old: ProcessLimits, new: ProcessLimits) -> None:
    differs = process_limit_differences(old, new)
    assert [name.removeprefix("processes.") for name in differs] == [
        name for name in PROCESS_LIMIT_NAMES if getattr(old, name) != getattr(new, name)
    ]
    assert bool(differs) == (old != new)


def test_nothing_differs_from_itself() -> None:
    assert process_limit_differences(DEFAULT_PROCESS_LIMITS, ProcessLimits()) == ()
    assert process_limit_differences(ProcessLimits(), ProcessLimits(records=3, running=2)) == (
        "processes.running",
        "processes.records",
    )
