"""What checks say of an agent, when one is stuck, and when its time is over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain import health, lifetimes, stuck
from corral.domain.health import HEALTHY, STARTING, UNHEALTHY, UNKNOWN, Health
from corral.domain.moments import Moment
from corral.domain.upkeep import Check

CHECK = Check(command="c", failures=3, start_timeout=60.0)


# Health


def run_checks(outcomes: list[bool], ages: float = 100.0) -> Health:
    known = Health(word=HEALTHY)
    for well in outcomes:
        known = health.checked(known, CHECK, None if well else "no", ages)
    return known


@given(st.lists(st.booleans(), max_size=40))
def test_it_is_unhealthy_exactly_after_so_many_failures_in_a_row(outcomes: list[bool]) -> None:
    known = run_checks(outcomes)
    tail = 0
    for well in reversed(outcomes):
        if well:
            break
        tail += 1
    assert (known.word == UNHEALTHY) == (tail >= CHECK.failures)


@given(st.floats(0, 59.9), st.integers(1, 100))
def test_failures_while_it_starts_up_do_not_count(age: float, times: int) -> None:
    known = Health()
    for _ in range(times):
        known = health.checked(known, CHECK, "not yet", age)
    assert known == Health(word=STARTING, detail="not yet")
    assert health.checked(known, CHECK, None, age) == Health(word=HEALTHY)


def test_one_that_never_came_up_is_unhealthy_when_its_time_for_that_is_over() -> None:
    known = health.checked(Health(word=STARTING), CHECK, "refused", 60.0)
    assert known.word == UNHEALTHY
    assert "no check has succeeded since it was started: refused" in health.in_words(known, CHECK)


def test_once_it_was_well_the_start_up_time_is_no_excuse() -> None:
    known = Health(word=HEALTHY)
    for _ in range(CHECK.failures):
        known = health.checked(known, CHECK, "no", 1.0)
    assert known.word == UNHEALTHY
    assert "3 checks in a row failed, the last one: no" in health.in_words(known, CHECK)


def test_a_check_that_fails_is_told_before_that_counts() -> None:
    starting = health.checked(Health(), CHECK, "refused", 1.0)
    assert health.in_words(starting, CHECK).endswith(": refused")
    assert "unhealthy" not in health.in_words(starting, CHECK)
    well = health.checked(starting, CHECK, None, 2.0)
    assert health.in_words(well, CHECK) == ""
    failing = health.checked(well, CHECK, "no", 3.0)
    assert failing.word == HEALTHY
    assert "1 of 3 times in a row that count: no" in health.in_words(failing, CHECK)


def test_unknown_is_what_nobody_has_checked() -> None:
    assert Health().word == UNKNOWN


# Stuck


def look(outputs: list[float], **known: bool) -> str:
    seen = None
    for output in outputs:
        seen = stuck.looked(seen, "r1", output)
    assert seen is not None
    facts = {"nudged": False, "stuck": False, "has_nudge": True, **known}
    return stuck.verdict(seen, **facts)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=30))
def test_it_is_nudged_only_if_nothing_changed_in_as_many_looks_as_its_time_has(changes: list[int]) -> None:
    outputs = [0.0]
    for change in changes:
        outputs.append(outputs[-1] + change)
    still = len(outputs) >= stuck.LOOKS + 1 and len(set(outputs[-stuck.LOOKS - 1 :])) == 1
    assert look(outputs) in ((stuck.NUDGE, stuck.PERSON) if still else (stuck.NOTHING,))


def test_where_it_cannot_be_told_that_is_tried_with_the_next_look_and_then_a_person_is_told() -> None:
    looks = [look([1.0] * (stuck.LOOKS + 1 + more)) for more in range(4)]
    assert looks == [stuck.NUDGE, stuck.NUDGE, stuck.PERSON, stuck.PERSON]


def test_without_a_nudge_a_person_is_told_at_once() -> None:
    assert look([1.0] * (stuck.LOOKS + 1), has_nudge=False) == stuck.PERSON


def test_the_echo_of_the_nudge_is_no_sign_of_life_and_silence_after_it_brings_a_person() -> None:
    assert look([1.0, 2.0], nudged=True) == stuck.NOTHING
    assert look([1.0, 2.0, 2.0, 2.0], nudged=True) == stuck.PERSON


def test_one_that_writes_again_moved_on() -> None:
    assert look([1.0, 2.0, 3.0], nudged=True) == stuck.MOVED_ON
    assert look([1.0, 2.0], stuck=True) == stuck.MOVED_ON
    assert look([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], stuck=True, nudged=True) == stuck.NOTHING


def test_another_run_is_looked_at_anew() -> None:
    seen = stuck.Seen(run="r1", news=1.0, still=9)
    assert stuck.looked(seen, "r2", 1.0) == stuck.Seen(run="r2", news=1.0)


# Lifetimes


@given(st.floats(1, 1e6), st.floats(0, 2e6), st.floats(0, 2e6), st.floats(-1e9, 1e9))
def test_a_lifetime_ends_after_all_of_it_and_the_whole_notice_whatever_the_clock_says(
    lifetime: float, announced: float, more: float, jump: float
) -> None:
    begun, said = Moment(monotonic=5.0, boot="a"), Moment(monotonic=5.0 + announced, boot="a")
    now = Moment(wall=jump, monotonic=5.0 + announced + more, boot="a")
    step, seconds = lifetimes.due(lifetime, begun, said, now)
    expected = max(0.0, lifetime - announced - more, lifetimes.notice(lifetime) - more)
    assert step == lifetimes.END
    assert seconds == pytest.approx(expected, abs=1e-3)


def test_it_is_announced_first() -> None:
    begun = Moment(monotonic=5.0, boot="a")
    assert lifetimes.due(100.0, begun, None, Moment(monotonic=45.0, boot="a")) == (lifetimes.ANNOUNCE, 50.0)
    assert lifetimes.due(100.0, begun, None, Moment(monotonic=9e9, boot="a")) == (lifetimes.ANNOUNCE, 0.0)
