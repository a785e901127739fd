"""How long to wait before an agent is started again, and when not to."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from corral.domain import lifecycle, restarts, states
from corral.domain.restarts import RestartLimits
from corral.domain.upkeep import Upkeep
from tests.support import records

AGENT = replace(records.AGENT, state=states.RUNNING, run="r1", pid=7, restart="on-failure", started_at=100.0)
LIMITS = st.builds(
    RestartLimits,
    attempts=st.integers(1, 50),
    steady=st.floats(1, 1e4),
    delay=st.floats(0.01, 10),
    longest=st.floats(10, 1e4),
)
RUN = st.text("0123456789abcdef", min_size=12, max_size=12)


@given(LIMITS, RUN, st.integers(1, 10_000))
def test_a_pause_is_between_half_of_the_doubled_delay_and_all_of_it_and_never_longer_than_the_longest(
    limits: RestartLimits, run: str, crashes: int
) -> None:
    whole = min(limits.longest, limits.delay * 2.0 ** min(crashes - 1, 40))
    assert whole / 2 <= restarts.pause(crashes, limits, run) <= whole <= limits.longest


@given(LIMITS, RUN, st.integers(1, 40))
def test_the_same_run_has_the_same_chance_so_each_end_in_a_row_waits_no_less_than_the_one_before(
    limits: RestartLimits, run: str, crashes: int
) -> None:
    assert restarts.pause(crashes, limits, run) <= restarts.pause(crashes + 1, limits, run)


def test_agents_that_end_together_are_spread() -> None:
    pauses = {restarts.pause(1, RestartLimits(delay=8.0), f"{number:012x}") for number in range(200)}
    assert len(pauses) > 190
    assert max(pauses) - min(pauses) > 3.0


@given(st.floats(0, 1e6), st.floats(0, 2e9), st.floats(0, 2e9))
def test_what_is_left_of_a_pause_is_never_more_than_all_of_it_whatever_the_clock_says(
    whole: float, began: float, now: float
) -> None:
    assert 0.0 <= restarts.remaining(whole, began, now) <= whole


def test_what_is_left_of_a_pause_is_what_has_not_passed() -> None:
    assert restarts.remaining(10.0, began=100.0, now=104.0) == 6.0


@given(LIMITS, st.integers(0, 100), st.floats(-1e6, 1e6))
def test_a_run_that_lasted_begins_the_count_anew_and_any_other_adds_one(
    limits: RestartLimits, before: int, lasted: float
) -> None:
    expected = 1 if lasted >= limits.steady else before + 1
    assert restarts.counted(before, lasted, limits) == expected


@given(st.integers(1, 20))
def test_a_crash_loop_ends_after_so_many_attempts_and_the_record_says_all(attempts: int) -> None:
    agent = replace(AGENT, upkeep=Upkeep(restarts=RestartLimits(attempts=attempts)))
    seen = []
    for number in range(attempts + 1):
        agent = lifecycle.exited(agent, 3, None, "exit 3", 101.0 + number, words="I am out")
        seen.append(agent.state)
        if agent.state == states.BACKOFF:
            agent = lifecycle.begin(agent, f"r{number}", agent.since, by_person=False)
    assert seen == [states.BACKOFF] * attempts + [states.FAILED]
    assert (agent.exit_code, agent.last_words, agent.crashes) == (3, "I am out", attempts + 1)
    assert "crash loop" in agent.reason
    assert "corral" not in agent.reason, "what to do about it is for whoever shows it: others quote the reason"


def test_a_good_run_in_between_keeps_it_alive_for_ever() -> None:
    agent = replace(AGENT, upkeep=Upkeep(restarts=RestartLimits(attempts=1, steady=60.0)))
    for number in range(20):
        agent = lifecycle.exited(agent, 3, None, "exit 3", agent.started_at + 61.0)
        assert (agent.state, agent.crashes) == (states.BACKOFF, 1)
        agent = lifecycle.begin(agent, f"r{number}", agent.since, by_person=False)


def test_a_start_by_a_person_clears_the_count() -> None:
    failed = replace(AGENT, state=states.FAILED, crashes=6, last_words="x")
    begun = lifecycle.begin(failed, "r2", 200.0, by_person=True)
    assert (begun.crashes, begun.last_words) == (0, "")


def test_one_that_is_ended_because_it_is_unwell_is_treated_as_its_policy_says() -> None:
    ending = lifecycle.ending(AGENT, "unhealthy: x", lifecycle.BY_POLICY, 110.0)
    assert ending.state == states.STOPPING
    ended = lifecycle.stopped(ending, 0, None, 111.0)
    assert (ended.state, ended.crashes, ended.afterwards) == (states.BACKOFF, 1, "")
    assert ended.reason.startswith("unhealthy: x")


def test_one_whose_time_is_over_stays_stopped_and_says_why() -> None:
    ended = lifecycle.stopped(lifecycle.ending(AGENT, "over", lifecycle.AND_STAY, 110.0), 143, 15, 111.0)
    assert (ended.state, ended.reason) == (states.STOPPED, "over")


def test_a_stop_by_a_person_takes_the_place_of_one_by_corral() -> None:
    ending = lifecycle.ending(AGENT, "unhealthy: x", lifecycle.BY_POLICY, 110.0)
    assert lifecycle.stopped(lifecycle.stopping(ending, 110.5), 0, None, 111.0).state == states.STOPPED
    assert lifecycle.still_stopping(ending, 112.0) is ending
