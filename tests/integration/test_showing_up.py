"""Whoever shows up wakes a team that was left alone: by an answer, a message to all, or a key in a terminal."""

import pytest

from tests.faults.support.teams import DEMO, await_event, last_seq, ps, toml
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

ALONE = '\n[supervision]\nunattended = { after = "2s", then = "pause", notice = "1s" }\n'


def left_alone(instance: Instance) -> int:
    """Have the team, which is up, be alone by its file from now on, and paused; the number of the newest event."""
    instance.spec(toml({"a": {"command": DEMO}}) + ALONE)
    instance.run("up")
    await_event(instance, "team.unattended", stage="alone", seconds=40)
    assert ps(instance)["a"]["paused"]
    return last_seq(instance)


@pytest.fixture
def team(instance: Instance) -> Instance:
    instance.spec(toml({"a": {"command": DEMO}}))
    instance.run("up")
    return instance


def test_an_answer_wakes_the_team_and_is_given(team: Instance) -> None:
    team.run("send", "a", "ask: go?")
    entry = await_event(team, "inbox.opened", "a")["data"]["entry"]
    after = left_alone(team)
    answered = team.json("inbox", "approve", str(entry))
    assert (answered["state"], answered["outcome"]) == ("answered", "proved")
    back = await_event(team, "team.attended", after=after)["data"]
    assert (back["by"], back["did"], back["agents"]) == (answered["by"], "inbox.answering", ["a"])
    assert not ps(team)["a"]["paused"]


def test_an_answer_to_nothing_is_told_as_that_and_wakes_nobody(team: Instance) -> None:
    left_alone(team)
    code, error = team.error("inbox", "approve", "77")
    assert (code, "77" in error["message"]) == (3, True)
    assert ps(team)["a"]["paused"]


def test_a_broadcast_wakes_the_team_and_arrives(team: Instance) -> None:
    after = left_alone(team)
    (receipt,) = team.json("broadcast", "hello")["receipts"]
    assert receipt["state"] in ("submitted", "observed")
    assert await_event(team, "team.attended", after=after)["data"]["did"] == "message.queued"


def test_whoever_is_attached_is_told_and_wakes_the_team_with_a_key(team: Instance) -> None:
    with AtTheKeyboard(team.argv("attach", "a"), team.environment(), team.directory) as person:
        await_event(team, "agent.attached", "a")
        after = left_alone(team)
        line = b"it is paused, as nobody was there for 2s: press a key to wake it"
        wait_for(lambda: line in person.shown, 20, "it is told at the terminal")
        person.press("x")
        back = await_event(team, "team.attended", after=after, seconds=40)["data"]
        assert (back["did"], back["after"], back["agents"]) == ("keys", "pause", ["a"])
        wait_for(lambda: not ps(team)["a"]["paused"], 20, "it goes on")
