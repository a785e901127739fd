"""When a run that was started is late, and what is said and done then."""

from dataclasses import replace

import pytest

from corral.domain import starting, states
from corral.domain.activity import NOT_KNOWN, WAITING, Activity
from corral.domain.ready_rules import ReadyRule
from corral.domain.records import PROMPT_NONE, PROMPT_SENDING, PROMPT_SENT, PROMPT_WAITING, Agent
from corral.domain.upkeep import Upkeep
from tests.support.records import AGENT

DB = replace(AGENT, ready=False, ready_when=ReadyRule(port="web"), prompt="", prompt_state=PROMPT_NONE)
TOLD = replace(AGENT, ready=True, prompt="hello", prompt_state=PROMPT_SENT)


@pytest.mark.parametrize(
    ("agent", "awaited"),
    [
        (DB, True),
        (replace(DB, ready=True), False),
        (replace(DB, paused=True), False),
        (replace(DB, state=states.UNKNOWN), False),
        (replace(DB, state=states.STARTING), False),
        (TOLD, False),
        (replace(TOLD, prompt_state=PROMPT_WAITING), True),
        (replace(TOLD, prompt_state=PROMPT_SENDING), True),
    ],
)
def test_it_is_waited_for_as_long_as_it_has_not_shown_what_it_has_to(agent: Agent, awaited: bool) -> None:
    assert starting.is_awaited(agent, NOT_KNOWN) is awaited


def test_one_that_waits_for_a_person_is_not_late() -> None:
    assert not starting.is_awaited(DB, Activity(word=WAITING, about="trust"))


def test_it_is_ended_only_if_its_file_says_so_and_only_before_it_is_ready() -> None:
    said = replace(DB, restart="on-failure", upkeep=Upkeep(start_timeout=3.0))
    assert starting.is_to_end(said)
    assert not starting.is_to_end(replace(said, upkeep=Upkeep()))
    assert not starting.is_to_end(replace(said, restart="never"))
    assert not starting.is_to_end(replace(said, ready=True, prompt_state=PROMPT_SENDING))


def test_the_time_is_what_the_file_says_or_a_minute() -> None:
    assert starting.seconds(DB) == 60.0
    assert starting.seconds(replace(DB, upkeep=Upkeep(start_timeout=3.0))) == 3.0


def test_it_is_said_what_is_waited_for() -> None:
    def words(agent: Agent, *, typing: str = "", has_profile: bool = False) -> str:
        return starting.in_words(agent, typing=typing, has_profile=has_profile)

    assert words(DB) == "it is not ready 1m after its start: it waits for port web to be listened on"
    waits = replace(TOLD, ready=False, prompt_state=PROMPT_WAITING)
    assert "so its first prompt is not said: its output has not paused; ready = {" in words(waits)
    assert words(waits, has_profile=True).endswith("said: its screen has not shown where to type")
    under_way = replace(TOLD, prompt_state=PROMPT_SENDING)
    assert (
        words(under_way, typing="a draft is there")
        == "its first prompt is not said 1m after its start: a draft is there"
    )
