"""A team that is left alone for two hours: announced before, done, journalled, undone by whoever shows up.

Nobody waits for two hours: one daemon hands over to another whose clock is ahead of that of the first. It is the clock
that nobody can set; the one that people set jumps by years meanwhile, and that must mean nothing.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import IDLE, await_event, events, ps, toml
from tests.history import clock as moved_clock
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

_HOUR = 3600.0
_YEAR = 365 * 24 * _HOUR
#: The default notice of two hours is ten minutes.
_ANNOUNCED_AT = 2 * _HOUR - 600.0


@pytest.fixture(autouse=True)
def clocks(instance: Instance, own_directory: Path) -> Path:
    """Has the daemons of the instance go by clocks that a test moves; the file that moves the wall clock."""
    wall = own_directory / "wall"
    path = os.pathsep.join([*moved_clock.__path__, os.environ.get("PYTHONPATH", "")])
    instance.env |= {"PYTHONPATH": path, "TEST_CLOCK_OFFSET": str(wall)}
    return wall


def _later(instance: Instance, seconds: float) -> None:
    """Go on with a daemon for which so much time has passed since the test began."""
    instance.run("daemon", "stop")
    instance.env["TEST_MONOTONIC_OFFSET"] = str(seconds)
    instance.run("daemon", "start")


def _told(instance: Instance) -> list[dict[str, Any]]:
    return [event for event in events(instance) if event["event"] in ("team.unattended", "team.attended")]


def _stages(instance: Instance) -> list[str]:
    return [event["data"].get("stage", event["event"]) for event in _told(instance)]


def _up(instance: Instance, then: str) -> None:
    agents = {"a": {"command": ["cat"]}, "b": {"command": IDLE}}
    instance.spec(toml(agents) + f'[supervision]\nunattended = {{ after = "2h", then = "{then}" }}\n')
    instance.run("up")


def _how(instance: Instance) -> dict[str, tuple[str, bool]]:
    return {name: (agent["state"], agent["paused"]) for name, agent in ps(instance).items()}


@pytest.mark.parametrize(
    ("then", "words", "left"),
    [
        ("notify", "that is told", ("running", False)),
        ("pause", "it is paused", ("running", True)),
        ("stop", "it is stopped", ("stopped", False)),
    ],
)
def test_two_hours_alone(instance: Instance, clocks: Path, then: str, words: str, left: tuple[str, bool]) -> None:
    _up(instance, then)
    here = _how(instance)
    assert set(here.values()) == {("running", False)}

    clocks.write_text(str(_YEAR))
    _later(instance, _ANNOUNCED_AT - 60.0)
    assert _stages(instance) == []
    assert ps(instance)["a"]["notices"] == []

    # Before: announced, ten minutes ahead, and nothing done yet.
    _later(instance, _ANNOUNCED_AT)
    announced = await_event(instance, "team.unattended", stage="announced")["data"]
    assert (announced["then"], announced["after"], announced["seconds"]) == (then, 2 * _HOUR, 600.0)
    assert f"in 10m {words}, unless somebody attaches, answers or sends something" in instance.run("ps").stdout
    assert _how(instance) == here

    # It happens, and is journalled as what Corral did by itself.
    clocks.write_text(str(-_YEAR))
    _later(instance, 2 * _HOUR + 1.0)
    await_event(instance, "team.unattended", stage="alone")
    assert _stages(instance) == ["announced", "acting", "alone"]
    assert {event["who"]["user"] for event in _told(instance)} == {"corral"}
    assert set(_how(instance).values()) == {left}
    assert "nobody has looked after this team for 2h" in instance.run("ps").stdout

    # Undone by showing up.
    instance.run("send", "a", "hello")
    assert await_event(instance, "team.attended")["data"]["after"] == then
    wait_for(lambda: _how(instance) == here, what="all is as it was")
    assert ps(instance)["a"]["notices"] == []
    assert _stages(instance) == ["announced", "acting", "alone", "team.attended"]


def test_a_daemon_that_comes_after_a_week_announces_it_first(instance: Instance) -> None:
    _up(instance, "stop")
    _later(instance, 168 * _HOUR)
    await_event(instance, "team.unattended", stage="announced")
    assert _stages(instance) == ["announced"]
    assert {state for state, _ in _how(instance).values()} == {"running"}


def test_whoever_came_after_an_hour_has_two_more(instance: Instance) -> None:
    _up(instance, "pause")
    _later(instance, _HOUR)
    instance.run("task", "add", "something")
    # The sign is on the disk a moment after it was seen, and at the latest when a daemon goes.
    _later(instance, 2 * _HOUR + 1800.0)
    assert _stages(instance) == []
    _later(instance, _HOUR + _ANNOUNCED_AT + 60.0)
    await_event(instance, "team.unattended", stage="announced")
