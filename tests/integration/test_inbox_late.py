"""An agent that is known to ask before its question is on the screen: one entry, brought up to date, and answered."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import await_event, events, last_seq, toml
from tests.integration.test_inbox import ask, press_by_hand, shows, waiting
from tests.support.instance import Instance
from tests.support.waiting import wait_for

#: Its title tells of a question at once; the question itself is drawn when the file `draw` is there.
LATE = """\
import pathlib, sys, termios, time, tty
tty.setcbreak(sys.stdin.fileno(), termios.TCSANOW)
print("\\x1b]2;attention\\x07thinking", flush=True)
while not pathlib.Path("draw").exists():
    time.sleep(0.02)
print("May I remove the build?\\n1. Yes\\n2. No\\npress a number", flush=True)
answer = sys.stdin.read(1)
print("\\x1b]2;\\x07\\x1b[2J\\x1b[Hgot " + answer + "\\nlate> ", flush=True)
time.sleep(3600)
"""
PROFILE = """\
name = "late"
title = "Late"
executable = "late"
command = ["late"]
ready = ['^late> *$']
paste_pause = 0
note = "Of the tests."

[[screen]]
name = "permission"
says = "waiting"
about = "permission"
lines = ['^1\\. Yes', '^press a number']
approve = ["1"]
deny = ["2"]

[[screen]]
name = "attention"
says = "waiting"
about = "question"
title = '^attention$'

[[screen]]
name = "idle"
says = "idle"
lines = ['^late>']
"""


@pytest.fixture
def late(instance: Instance, own_directory: Path) -> Instance:
    program = own_directory / "late"
    program.write_text(f"#!{sys.executable}\n{LATE}")
    program.chmod(0o755)
    profiles = Path(instance.home, "profiles")
    profiles.mkdir(parents=True, mode=0o700)
    Path(instance.home).chmod(0o700)
    (profiles / "late.toml").write_text(PROFILE)
    instance.spec(toml({"a": {"command": [str(program)]}}))
    instance.run("up")
    return instance


def draw(instance: Instance) -> None:
    Path(instance.directory, "draw").touch()


def answerable(instance: Instance) -> dict[str, Any]:
    """The only entry, once somebody knows how to answer it."""

    def seen() -> dict[str, Any] | None:
        found = waiting(instance)
        return found[0] if len(found) == 1 and "approve" in found[0]["can"] else None

    return wait_for(seen, 20, "it is known how to answer it")


def test_a_question_that_is_drawn_late_keeps_its_number_and_can_be_answered(late: Instance) -> None:
    number = int(await_event(late, "inbox.opened", "a", after=0)["data"]["entry"])
    (entry,) = waiting(late)
    assert (entry["entry"], entry["kind"], entry["can"]) == (number, "question", [])
    code, error = late.error("inbox", "approve", str(number))
    assert (code, "nobody knows which key would approve" in error["message"]) == (4, True)
    late.run("inbox", "claim", str(number))

    draw(late)
    drawn = answerable(late)
    assert (drawn["entry"], drawn["kind"], drawn["state"]) == (number, "permission", "claimed")
    assert drawn["what"] == "May I remove the build?"
    assert [one["text"] for one in drawn["options"]] == ["Yes", "No"]
    assert "press a number" in late.json("inbox", "show", str(number))["screen"][-1]

    answered = late.json("inbox", "approve", str(number))
    assert (answered["state"], answered["outcome"]) == ("answered", "proved")
    shows(late, "got 1")
    told = [one["event"] for one in events(late) if one["event"].startswith("inbox.")]
    # Whether anybody was there to be told is another matter.
    assert [event for event in told if event != "inbox.notified"] == [
        "inbox.opened",
        "inbox.claimed",
        "inbox.drawn",
        "inbox.answering",
        "inbox.answered",
    ]
    assert len(late.json("inbox", "--all")["entries"]) == 1


def test_an_answer_is_to_what_the_screen_shows_then_also_before_anybody_has_looked(late: Instance) -> None:
    number = int(await_event(late, "inbox.opened", "a", after=0)["data"]["entry"])
    draw(late)
    wait_for(lambda: late.run("inbox", "deny", str(number), check=False).returncode == 0, 20, "it is pressed")
    shows(late, "got 2")
    assert [one["entry"] for one in late.json("inbox", "--all")["entries"]] == [number]


def test_a_question_that_takes_the_place_of_another_is_told_of(instance: Instance) -> None:
    """The screen says the same before and after: that a permission is asked for."""
    instance.spec(toml({"a": {"command": [sys.executable, "-m", "corral", "demo-agent"]}}))
    instance.run("up")
    first = ask(instance, "one?", "two?")
    after = last_seq(instance)
    press_by_hand(instance, "a", "1")
    second = int(await_event(instance, "inbox.opened", "a", after=after)["data"]["entry"])
    assert second > first
    (entry,) = waiting(instance)
    assert (entry["entry"], entry["what"]) == (second, "permission needed: two?")
    assert instance.error("inbox", "approve", str(first))[0] == 4
    instance.run("inbox", "approve", str(second))
    shows(instance, "went")
