"""When a team counts as left alone, and what follows: told in moments, so that setting a clock brings nothing about."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corral
from corral.domain import attendance
from corral.domain.attendance import (
    ACTING,
    ALONE,
    ANNOUNCED,
    ATTENDED,
    PAUSE,
    REACTIONS,
    RETURNING,
    Attendance,
    Unattended,
    due,
)
from corral.domain.moments import Moment, earlier, elapsed

RULE = Unattended(after=7200.0, then=PAUSE)
START = Moment(wall=1e9, monotonic=1000.0, boot="a")
RULES = st.builds(Unattended, after=st.floats(1, 1e6), then=st.sampled_from(REACTIONS))


def later(seconds: float, *, jump: float = 0.0, boot: str = "a") -> Moment:
    return Moment(wall=START.wall + seconds + jump, monotonic=START.monotonic + seconds, boot=boot)


# Moments


@given(st.floats(0, 1e6), st.floats(-1e9, 1e9))
def test_setting_the_clock_makes_no_time_pass(seconds: float, jump: float) -> None:
    assert elapsed(START, later(seconds, jump=jump)) == pytest.approx(seconds, abs=1e-6)


@given(st.floats(-1e9, 1e9), st.text("ab"), st.floats(0, 1e9))
def test_time_that_passed_is_never_negative_and_after_a_boot_no_more_than_since_it(
    then: float, boot: str, now: float
) -> None:
    passed = elapsed(Moment(monotonic=then, boot=boot), Moment(monotonic=now, boot="new"))
    assert 0.0 <= passed <= max(0.0, now)


def test_a_moment_earlier_is_that_long_ago() -> None:
    assert elapsed(earlier(START, 30.0), START) == 30.0


# What is due


@given(RULES, st.floats(0, 2e6), st.floats(-1e9, 1e9))
def test_nothing_is_due_before_its_time_and_it_is_announced_first(rule: Unattended, alone: float, jump: float) -> None:
    stage, seconds = due(rule, Attendance(seen=START), later(alone, jump=jump))
    assert stage == ANNOUNCED
    assert seconds == pytest.approx(max(0.0, rule.after - rule.notice - alone), abs=1e-3)


@given(RULES, st.floats(0, 2e6), st.floats(0, 2e6), st.floats(-1e9, 1e9))
def test_it_is_done_after_the_whole_time_and_the_whole_notice_and_no_earlier(
    rule: Unattended, announced: float, more: float, jump: float
) -> None:
    known = attendance.announced(Attendance(seen=START), later(announced))
    stage, seconds = due(rule, known, later(announced + more, jump=jump))
    assert stage == ACTING
    expected = max(0.0, rule.after - announced - more, rule.notice - more)
    assert seconds == pytest.approx(expected, abs=1e-3)


def test_a_daemon_that_was_away_for_too_long_still_announces_it_first() -> None:
    now = later(10 * RULE.after)
    assert due(RULE, Attendance(seen=START), now) == (ANNOUNCED, 0.0)
    assert due(RULE, attendance.announced(Attendance(seen=START), now), now) == (ACTING, RULE.notice)


def test_after_a_reboot_it_counts_from_the_boot() -> None:
    known = Attendance(seen=replace(START, monotonic=500_000.0))
    stage, seconds = due(RULE, known, Moment(wall=2e9, monotonic=60.0, boot="b"))
    assert (stage, seconds) == (ANNOUNCED, RULE.after - RULE.notice - 60.0)


@pytest.mark.parametrize("stage", [ATTENDED, ANNOUNCED])
def test_nobody_is_missed_between_a_boot_and_the_first_look_and_it_is_announced_again(stage: str) -> None:
    before = Attendance(seen=START, stage=stage, announced=START if stage == ANNOUNCED else None)
    booted = Moment(wall=2e9, monotonic=9 * 3600.0, boot="b")
    known = attendance.after_boot(before, booted)
    assert due(RULE, known, booted) == (ANNOUNCED, RULE.after - RULE.notice)
    assert known.seen.wall == START.wall, "people are told when somebody really was there"
    # Whoever looks again in the same boot does not make them wait once more.
    later_on = replace(booted, monotonic=booted.monotonic + 100.0)
    assert attendance.after_boot(known, later_on) == known


@pytest.mark.parametrize("stage", [ACTING, ALONE, RETURNING])
def test_a_boot_undoes_nothing_and_finishes_what_was_begun(stage: str) -> None:
    before = Attendance(seen=START, stage=stage, reaction=PAUSE, agents=("a",))
    known = attendance.after_boot(before, Moment(wall=2e9, monotonic=5.0, boot="b"))
    assert (known.stage, known.reaction, known.agents) == (stage, PAUSE, ("a",))


def test_an_agent_that_comes_up_again_is_counted_once() -> None:
    assert attendance.acting(Attendance(seen=START), RULE, ["a", "b", "a"]).agents == ("a", "b")


def test_what_was_begun_before_a_crash_is_done_to_its_end() -> None:
    acting = attendance.acting(Attendance(seen=START), RULE, ["a"])
    assert due(RULE, acting, later(1.0)) == (ALONE, 0.0)
    returning = attendance.shown_up(acting, later(1.0))
    assert due(RULE, returning, later(1.0)) == (ATTENDED, 0.0)
    assert due(RULE, attendance.alone(acting), later(1e9)) == ("", 0.0)


@given(RULES, st.lists(st.floats(0.1, 1e5), max_size=30))
def test_whoever_shows_up_often_enough_is_never_told_anything(rule: Unattended, waits: list[float]) -> None:
    now, known = START, Attendance(seen=START)
    for wait in waits:
        wait = min(wait, (rule.after - rule.notice) * 0.9)
        now = replace(now, monotonic=now.monotonic + wait)
        assert due(rule, known, now)[1] > 0
        known = attendance.shown_up(known, now)
        assert known == Attendance(seen=now)


def test_showing_up_undoes_what_was_done_and_only_that() -> None:
    alone = attendance.alone(attendance.acting(Attendance(seen=START), RULE, ["a", "b"]))
    back = attendance.shown_up(alone, later(9000.0))
    assert (back.stage, back.agents, back.reaction) == (RETURNING, ("a", "b"), PAUSE)
    assert attendance.attended(back) == Attendance(seen=later(9000.0))


def test_an_agent_that_somebody_stops_is_not_woken_on_their_behalf() -> None:
    alone = attendance.alone(attendance.acting(Attendance(seen=START), RULE, ["a", "b"]))
    back = attendance.shown_up(alone, later(9000.0), event="agent.stopping", agent="a")
    assert back.agents == ("b",)
    assert attendance.shown_up(alone, later(9000.0), event="agent.attached", agent="a").agents == ("a", "b")


def test_whoever_came_first_has_woken_it() -> None:
    alone = attendance.alone(attendance.acting(Attendance(seen=START), RULE, ["a", "b"]))
    first = attendance.shown_up(alone, later(9000.0), event="inbox.answering", by="ann")
    second = attendance.shown_up(first, later(9001.0), event="agent.stopping", agent="a", by="bob")
    assert (second.by, second.did, second.agents) == ("ann", "inbox.answering", ("b",))
    assert second.seen == later(9001.0)


# Keys


@given(st.floats(2, 1e6), st.floats(0, 1e6), st.floats(-1e9, 1e9))
def test_keys_tell_of_somebody_if_they_came_after_the_last_sign(since: float, idle: float, jump: float) -> None:
    """tmux counts whole seconds: a key in the second of the last sign is none after it."""
    typed = attendance.has_typed(Attendance(seen=START), idle, later(since, jump=jump))
    assert typed == (idle + 1.0 < elapsed(START, later(since)))
    assert not (typed and idle >= since)


@pytest.mark.parametrize("reaction", REACTIONS)
def test_keys_are_looked_for_only_where_somebody_is_attached_to_a_team_that_stands_still(reaction: str) -> None:
    rule = replace(RULE, then=reaction)
    acting = attendance.acting(Attendance(seen=START), rule, ["a"])
    alone = attendance.alone(acting)
    look = attendance.next_look(alone, attached=True)
    assert (look is not None) == (reaction == PAUSE)
    assert look is None or 1 <= look <= 10
    assert attendance.next_look(alone, attached=False) is None
    back = attendance.shown_up(alone, later(9000.0))
    for other in (Attendance(seen=START), attendance.announced(Attendance(seen=START), START), acting, back):
        assert attendance.next_look(other, attached=True) is None


# Signs


@pytest.mark.parametrize("event", ["agent.attached", "message.queued", "inbox.answered", "team.up", "task.added"])
def test_what_a_person_does_to_agents_is_a_sign_and_the_same_of_an_agent_or_of_corral_is_none(event: str) -> None:
    assert attendance.is_sign(event, agent="", uid=1000)
    assert not attendance.is_sign(event, agent="shop/a", uid=1000)
    assert not attendance.is_sign(event, agent="service", uid=1000)
    assert not attendance.is_sign(event, agent="", uid=-1)


@pytest.mark.parametrize(
    "event", ["kv.changed", "lease.granted", "agent.started", "message.submitted", "merge.merged", "daemon.started"]
)
def test_what_scripts_do_and_what_comes_later_is_no_sign(event: str) -> None:
    assert not attendance.is_sign(event, agent="", uid=1000)


def test_every_sign_is_an_event_that_somebody_writes() -> None:
    """A name that nobody writes would be a sign that never comes."""
    source = "".join(path.read_text() for path in Path(corral.__file__).parent.rglob("*.py"))
    made_up = {"message.read"}  # put together from its parts, as are those of what is sent
    for event in attendance.SIGNS - made_up:
        assert source.count(f'"{event}"') > 0, event
