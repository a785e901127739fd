"""What becomes of a message whose agent rests, was started again, or is gone: never typed twice, never lost quietly."""

from dataclasses import replace

import pytest

from corral.domain import send_fate, states
from corral.domain.activity import WAITING, Activity
from corral.domain.records import PROMPT_SENDING, PROMPT_SENT, PROMPT_UNKNOWN, PROMPT_WAITING, Agent
from corral.domain.sends import (
    ENTERING,
    FAILED,
    PASTED,
    PASTING,
    PROVING,
    QUEUED,
    SUBMITTED,
    UNKNOWN,
    Send,
)
from tests.support.records import AGENT, PERSON

QUEUED_SEND = Send(number=1, message="m1", team="shop", agent="a", by=PERSON, bytes=3, sha256="", digest="", time=1.0)
#: As they are while they are typed into the first run.
BEGUN = [
    replace(QUEUED_SEND, state=state, step=step, run="r1", keeper="boot/1")
    for state, step in ((QUEUED, PASTING), (PASTED, ENTERING))
]
PROVED = replace(QUEUED_SEND, state=SUBMITTED, step=PROVING, run="r1")
#: That it was entered is known, and stays so.
ENTERED = {"step": "", "reason": "the agent ended before it was proved that it took it"}
AT_REST = [replace(AGENT, state=state) for state in sorted(states.AT_REST)]


@pytest.mark.parametrize("agent", [None, *AT_REST], ids=str)
def test_an_agent_that_rests_gets_nothing_and_what_was_begun_is_unknown(agent: Agent | None) -> None:
    fresh = send_fate.over(QUEUED_SEND, agent)
    assert fresh is not None
    assert (fresh["state"], fresh["step"]) == (FAILED, "")
    assert fresh["reason"] == (f"a is {agent.state}" if agent is not None else "a was removed")
    for send in BEGUN:
        begun = send_fate.over(send, agent)
        assert begun is not None
        assert (begun["state"], begun["step"]) == (UNKNOWN, "")
    assert send_fate.over(PROVED, agent) == ENTERED


def test_the_next_run_gets_what_was_not_begun_and_nothing_else() -> None:
    again = replace(AGENT, run="r2")
    assert send_fate.over(QUEUED_SEND, again) is None
    for send in BEGUN:
        assert send_fate.over(send, again) == {
            "state": UNKNOWN,
            "step": "",
            "reason": "the agent ended while it was being typed",
        }
    assert send_fate.over(PROVED, again) == ENTERED


@pytest.mark.parametrize("state", [states.BACKOFF, states.PENDING])
def test_what_was_begun_keeps_nobody_waiting_for_a_run_that_is_over(state: str) -> None:
    between = replace(AGENT, state=state)  # its record still names the last run
    assert send_fate.over(QUEUED_SEND, between) is None
    assert [(send_fate.over(send, between) or {})["state"] for send in BEGUN] == [UNKNOWN, UNKNOWN]
    assert send_fate.over(PROVED, between) == ENTERED


def test_in_its_own_run_it_goes_on() -> None:
    for send in (QUEUED_SEND, *BEGUN, PROVED):
        assert send_fate.over(send, AGENT) is None


def test_a_first_prompt_is_for_its_run_alone() -> None:
    prompt = replace(QUEUED_SEND, prompt_of="r1")
    assert send_fate.over(prompt, AGENT) is None
    assert send_fate.over(prompt, replace(AGENT, run="r2")) == {"state": FAILED, "reason": "its run is over"}


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (AGENT, ""),
        (replace(AGENT, state=states.BACKOFF, reason="exit 3"), "the agent is backoff: exit 3"),
        (replace(AGENT, paused=True), "the agent is paused"),
        (replace(AGENT, state=states.UNKNOWN, reason="tmux is silent"), "the agent is unknown: tmux is silent"),
        (replace(AGENT, state=states.STARTING), "the agent is starting"),
    ],
)
def test_what_an_agent_makes_a_message_wait_for(agent: Agent, why: str) -> None:
    assert send_fate.waits_for(QUEUED_SEND, agent) == why


@pytest.mark.parametrize("sent_at", [1.0, 3.0], ids=["before its start", "after its start"])
@pytest.mark.parametrize(
    ("prompt_state", "waits"),
    [(PROMPT_WAITING, True), (PROMPT_SENDING, True), (PROMPT_SENT, False), (PROMPT_UNKNOWN, False)],
)
def test_a_first_prompt_comes_first(sent_at: float, prompt_state: str, waits: bool) -> None:
    agent = replace(AGENT, started_at=2.0, prompt_state=prompt_state)
    sent = replace(QUEUED_SEND, time=sent_at)
    assert send_fate.waits_for(sent, agent) == ("its first prompt comes first" if waits else "")
    asks = Activity(word=WAITING, about="trust")
    assert ("waits for a person (trust)" in send_fate.waits_for(sent, agent, asks)) is waits
    # Itself, what was forced, and what was begun: the prompt stands behind that one, and each would wait for the other.
    for other in (replace(sent, prompt_of=AGENT.run), replace(sent, ahead=True), *BEGUN):
        assert send_fate.waits_for(other, agent) == ""


@pytest.mark.parametrize(
    ("keeper", "sure", "reason", "state"),
    [
        ("boot/1", True, "", ""),  # who was to paste it did not
        ("boot/1", False, "tmux did not say", UNKNOWN),  # who was to paste it cannot tell
        ("boot/2", True, "", UNKNOWN),  # somebody else never heard of it
    ],
)
def test_only_who_was_to_paste_it_can_say_that_it_did_not(keeper: str, sure: bool, reason: str, state: str) -> None:
    written = send_fate.not_pasted(BEGUN[0], keeper, sure=sure, reason=reason)
    assert written["step"] == ""
    assert written.get("state", "") == state
    assert not state or written["reason"] == (reason or "Corral was interrupted while it typed")
