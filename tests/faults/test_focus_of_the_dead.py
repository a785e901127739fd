"""A program that wants to hear of the focus ends under somebody who is attached: nobody else may notice.

tmux 3.3a and 3.4 tell a pane of the focus also when its program has ended, and crash with every agent of the team.
"""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.support.population import tmux_servers
from tests.faults.support.teams import IDLE, await_event, await_states, down, last_seq, pids, ps, toml
from tests.support import processes
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: Asks to be told of the focus, as coding agents and editors do.
CURIOUS = ["sh", "-c", r"printf '\033[?1004h'; echo curious; exec sleep 86400"]


def attached(instance: Instance, agent: str) -> AtTheKeyboard:
    return AtTheKeyboard(instance.argv("attach", agent), instance.environment(), instance.directory)


def up(instance: Instance, restart: str = "never") -> None:
    agent = {"command": CURIOUS, "restart": {"policy": restart, "delay": "0.1s"}}
    instance.spec(toml({"curious": agent, "beside": {"command": IDLE}}))
    instance.run("up")
    wait_for(lambda: "curious" in instance.run("logs", "curious").stdout, 20, "it has asked to be told")


def kill_all_of_it(instance: Instance) -> None:
    """With its launch shell, which could otherwise see to its terminal."""
    program = pids(instance)["curious"]
    os.kill(processes.parent_of(program), signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):  # it may have gone with its terminal by now
        os.kill(program, signal.SIGKILL)


ENDS: dict[str, Callable[[Instance], Any]] = {
    "restart": lambda instance: instance.run("restart", "curious"),
    "stop": lambda instance: instance.run("stop", "curious"),
    "rm": lambda instance: instance.run("rm", "--force", "curious"),
}


@pytest.mark.parametrize("end", ENDS)
def test_one_that_is_taken_away_under_somebody_takes_nobody_along(instance: Instance, end: str) -> None:
    up(instance)
    before = pids(instance)["beside"], tmux_servers(instance)
    with attached(instance, "curious"):
        ENDS[end](instance)
    assert (pids(instance)["beside"], tmux_servers(instance)) == before
    down(instance)


@pytest.mark.parametrize("how", ["program", "all of it"])
@pytest.mark.parametrize("restart", ["never", "always"])
def test_one_that_is_killed_under_somebody_takes_nobody_along(instance: Instance, how: str, restart: str) -> None:
    up(instance, restart)
    before = pids(instance)["beside"], tmux_servers(instance)
    seq = last_seq(instance)
    with attached(instance, "curious"):
        if how == "program":
            os.kill(pids(instance)["curious"], signal.SIGKILL)
        else:
            kill_all_of_it(instance)
        told = await_event(instance, "agent.exited", "curious", after=seq)
        await_states(instance, {"curious": "failed" if restart == "never" else "running"})
    assert "curious" in json.dumps(told["data"])  # its last words are known all the same
    # The attached one has left; another one comes to what is dead, and leaves.
    with attached(instance, "curious") as person:
        assert ps(instance)["beside"]["state"] == "running"
        if restart == "never":
            wait_for(lambda: b"it has ended: this is its last screen" in person.shown, 20, "that is not called alive")
    assert (pids(instance)["beside"], tmux_servers(instance)) == before
    down(instance)


def test_a_team_that_goes_under_somebody_goes_clean(instance: Instance) -> None:
    up(instance)
    with attached(instance, "curious"):
        down(instance, "--grace", "0s")
