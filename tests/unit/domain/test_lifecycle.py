"""The life of an agent, one observation after the other."""

from dataclasses import replace

import pytest

from corral.domain import lifecycle, states
from corral.domain.records import PROMPT_HELD, PROMPT_NONE, PROMPT_WAITING, SUPERVISOR, Place
from tests.support import records

AGENT = replace(records.AGENT, state=states.PENDING, run="", pid=None)


def test_a_start_by_a_person_forgets_earlier_restarts() -> None:
    tired = replace(AGENT, restarts=7, state=states.FAILED)
    assert lifecycle.begin(tired, "r2", 1.0, by_person=True).restarts == 0


def test_a_start_by_the_supervisor_counts() -> None:
    waiting = replace(AGENT, restarts=7, state=states.BACKOFF)
    assert lifecycle.begin(waiting, "r2", 1.0, by_person=False).restarts == 8


@pytest.mark.parametrize("state", sorted(states.LIVE))
def test_a_second_run_is_never_begun_beside_one_that_may_live(state: str) -> None:
    with pytest.raises(ValueError, match="would make two"):
        lifecycle.begin(replace(AGENT, state=state), "r2", 1.0, by_person=True)


@pytest.mark.parametrize(("prompt", "expected"), [("", PROMPT_NONE), ("hello", PROMPT_WAITING)])
def test_a_new_run_waits_for_its_prompt(prompt: str, expected: str) -> None:
    assert lifecycle.begin(replace(AGENT, prompt=prompt), "r1", 1.0, by_person=True).prompt_state == expected


@pytest.mark.parametrize(
    ("policy", "code", "signal", "expected"),
    [
        ("never", 0, None, states.STOPPED),
        ("never", 1, None, states.FAILED),
        ("never", None, None, states.FAILED),
        ("never", 137, 9, states.FAILED),
        ("on-failure", 0, None, states.STOPPED),
        ("on-failure", 3, None, states.BACKOFF),
        ("on-failure", None, None, states.BACKOFF),
        ("always", 0, None, states.BACKOFF),
        ("always", 1, None, states.BACKOFF),
    ],
)
def test_the_restart_policy_decides_what_follows_an_exit(
    policy: str, code: int | None, signal: int | None, expected: str
) -> None:
    running = replace(AGENT, state=states.RUNNING, restart=policy, pid=7)
    ended = lifecycle.exited(running, code, signal, "it ended", 5.0)
    assert (ended.state, ended.pid, ended.exit_code, ended.since) == (expected, None, code, 5.0)


def test_an_exit_that_was_asked_for_starts_nothing() -> None:
    stopping = replace(AGENT, state=states.STOPPING, restart="always")
    assert lifecycle.exited(stopping, 143, 15, "killed", 5.0).state == states.STOPPED


def test_what_cannot_be_seen_is_unknown_and_not_gone() -> None:
    running = replace(AGENT, state=states.RUNNING, pid=7)
    unseen = lifecycle.unseen(running, "tmux does not answer", 5.0)
    assert (unseen.state, unseen.pid) == (states.UNKNOWN, 7)


@pytest.mark.parametrize("state", [states.STOPPED, states.FAILED, states.BACKOFF, states.PENDING])
def test_what_does_not_run_is_known_without_looking(state: str) -> None:
    resting = replace(AGENT, state=state)
    assert lifecycle.unseen(resting, "tmux does not answer", 5.0) is resting


def test_seen_again_it_runs() -> None:
    lost = replace(AGENT, state=states.UNKNOWN, reason="tmux does not answer")
    found = lifecycle.running(lost, 7, 5.0)
    assert (found.state, found.pid, found.reason) == (states.RUNNING, 7, "")


@pytest.mark.parametrize(("prompt", "held"), [(PROMPT_NONE, PROMPT_NONE), (PROMPT_WAITING, PROMPT_HELD)])
def test_a_paused_agent_runs_and_its_prompt_is_held_back(prompt: str, held: str) -> None:
    running = replace(AGENT, state=states.RUNNING, prompt_state=prompt)
    paused = lifecycle.paused(running)
    assert (paused.state, paused.paused, paused.prompt_state) == (states.RUNNING, True, held)
    assert lifecycle.resumed(paused) == running


def test_an_agent_that_ended_is_not_paused_any_more() -> None:
    paused = lifecycle.paused(replace(AGENT, state=states.RUNNING))
    assert not lifecycle.exited(paused, 0, None, "exit 0", 1.0).paused
    assert not lifecycle.stopped(paused, 0, None, 1.0).paused
    assert not lifecycle.begin(replace(paused, state=states.FAILED), "r2", 1.0, by_person=True).paused


def test_what_corral_stopped_for_good_stays_so_until_it_is_started() -> None:
    ended = lifecycle.stopped(
        lifecycle.ending(records.AGENT, "its time is over", lifecycle.AND_STAY, 2.0), 0, None, 3.0
    )
    assert lifecycle.stays_stopped(ended)
    assert ended.reason == "its time is over"
    assert not lifecycle.stays_stopped(lifecycle.begin(ended, "r2", 4.0, by_person=True))
    by_a_person = lifecycle.stopped(lifecycle.stopping(records.AGENT, 2.0), 0, None, 3.0)
    assert by_a_person.state == states.STOPPED
    assert not lifecycle.stays_stopped(by_a_person)


def test_one_in_line_still_says_how_its_last_run_ended() -> None:
    running = replace(AGENT, state=states.RUNNING, restart="on-failure", pid=7, run="r1")
    unwell = lifecycle.stopped(
        lifecycle.ending(running, "unhealthy: no answer", lifecycle.BY_POLICY, 2.0), 0, None, 3.0
    )
    assert unwell.reason.startswith("unhealthy: no answer; it is started again in ")
    place = Place(turn=1, since=4.0, who=SUPERVISOR, ended=lifecycle.how_it_came_to_back_off(unwell))
    waiting = lifecycle.in_line(unwell, place, "ann", "waits for a place", 4.0)
    assert (waiting.state, waiting.reason) == (
        states.PENDING,
        "waits for a place; its last run: unhealthy: no answer",
    )
    assert lifecycle.how_it_came_to_back_off(waiting) == "", (
        "of one that is not in back-off nothing of that kind is known"
    )
    assert lifecycle.begin(waiting, "r2", 5.0, by_person=False).reason == ""
