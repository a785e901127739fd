"""Agents that wait to be started: in line, by turn, once, and whatever dies meanwhile."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: Each run of an agent leaves a line in a file of its name.
NOTED = 'command = "echo run >> $CORRAL_AGENT.runs; exec cat"\n'

#: Where the daemon can die while somebody waits to be started.
WAITING = ("daemon.line_written",)


def ps(instance: Instance) -> dict[str, dict[str, Any]]:
    return {agent["agent"]: agent for agent in instance.json("ps")}


def states(instance: Instance) -> dict[str, str]:
    return {name: agent["state"] for name, agent in ps(instance).items()}


def runs(directory: Path, agent: str) -> int:
    path = directory / f"{agent}.runs"
    return path.read_text().count("run") if path.exists() else 0


def team(instance: Instance, rules: str, agents: str) -> None:
    instance.spec(f'[team]\nname = "shop"\n[supervision]\n{rules}\n{agents}')


def test_what_has_no_place_waits_and_starts_when_there_is_one(instance: Instance, own_directory: Path) -> None:
    team(instance, "max_agents = 2", f"[agents.a]\ncount = 4\n{NOTED}")
    done = instance.run("up")
    assert "2 started, 2 pending" in done.stdout
    assert "a-3 is pending: waits for a place: 2 agents of the team run, and max_agents is 2" in done.stdout
    assert states(instance) == {"a-1": "running", "a-2": "running", "a-3": "pending", "a-4": "pending"}
    again = instance.json("up")
    assert [one["action"] for one in again["agents"]] == ["keep", "keep", "pending", "pending"]
    instance.run("stop", "a-4")
    assert states(instance)["a-4"] == "stopped", "it is out of line"
    instance.run("stop", "a-1")
    wait_for(lambda: states(instance)["a-3"] == "running", what="a-3 has the place of a-1")
    instance.run("stop", "a-2")
    assert states(instance) == {"a-1": "stopped", "a-2": "stopped", "a-3": "running", "a-4": "stopped"}
    assert [runs(own_directory, f"a-{number}") for number in (1, 2, 3, 4)] == [1, 1, 1, 0]


def test_one_that_waits_to_be_started_is_removed_once_it_is_out_of_line(instance: Instance) -> None:
    team(instance, "max_agents = 1", f"[agents.a]\ncount = 4\n{NOTED}")
    instance.run("up")
    code, error = instance.error("rm", "a-1", "a-3", "a-4")
    assert (code, error["message"]) == (4, "a-1 still runs; a-3, a-4 wait to be started")
    code, error = instance.error("rm", "a-3")
    assert (code, error["message"]) == (4, "a-3 waits to be started")
    assert "corral stop a-3" in error["remedy"]
    instance.run("stop", "a-3")
    instance.run("rm", "a-3")
    instance.run("rm", "--force", "a-4")
    assert states(instance) == {"a-1": "running", "a-2": "pending"}


def test_more_places_in_the_file_let_more_in(instance: Instance) -> None:
    agents = f"[agents.a]\ncount = 3\n{NOTED}"
    team(instance, "max_agents = 1", agents)
    instance.run("up")
    team(instance, "max_agents = 2", agents)
    instance.run("up")
    assert list(states(instance).values()) == ["running", "running", "pending"]


def test_a_restart_by_policy_stands_in_line_like_everybody(instance: Instance, own_directory: Path) -> None:
    team(
        instance,
        "max_agents = 1",
        '[agents.a]\nrestart = "on-failure"\n'
        'command = "echo run >> $CORRAL_AGENT.runs; while [ ! -e fail ]; do sleep 0.02; done; rm fail; exit 1"\n'
        f"[agents.b]\n{NOTED}",
    )
    instance.run("up")
    assert states(instance) == {"a": "running", "b": "pending"}
    (own_directory / "fail").touch()
    wait_for(lambda: states(instance) == {"a": "pending", "b": "running"}, what="b has the place, and a waits for it")
    reason = ps(instance)["a"]["reason"]
    assert reason.startswith("waits for a place: 1 agent of the team runs")
    assert reason.endswith("; its last run: exit 1"), "why it has to be started again is still told"
    instance.run("stop", "b")
    wait_for(lambda: states(instance)["a"] == "running", what="a runs again")
    assert ps(instance)["a"]["restarts"] == 1
    assert (runs(own_directory, "a"), runs(own_directory, "b")) == (2, 1)


def test_who_waits_is_started_once_by_whoever_comes_after_a_killed_daemon(
    instance: Instance, own_directory: Path
) -> None:
    team(instance, "max_agents = 2", f'[agents.a]\ncount = 4\nenv = {{ SECRET = "s3" }}\n{NOTED}')
    instance.run("up")
    for _ in range(2):
        kill_daemon(instance)
        instance.run("daemon", "start")
        assert list(states(instance).values()) == ["running", "running", "pending", "pending"]
    instance.run("stop", "a-1", "a-2")
    wait_for(lambda: list(states(instance).values())[2:] == ["running", "running"], what="the others run")
    assert [runs(own_directory, f"a-{number}") for number in (1, 2, 3, 4)] == [1, 1, 1, 1]
    environment = Path(f"/proc/{ps(instance)['a-3']['pid']}/environ").read_bytes().split(b"\0")
    assert b"SECRET=s3" in environment, "it has the environment of the up that it waited since"
    store = b"".join(path.read_bytes() for path in Path(instance.home).glob("corral.db*"))
    assert b"s3" not in store.replace(b"sqlite3", b""), "and the store has not"


def test_two_ups_at_once_start_nobody_twice(instance: Instance, own_directory: Path) -> None:
    team(instance, "max_agents = 3\nstart_at_once = 1", f"[agents.a]\ncount = 4\n{NOTED}")
    instance.run("daemon", "start")
    ups = [
        subprocess.Popen(
            instance.argv("up", "--json"),
            cwd=own_directory,
            env=instance.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(3)
    ]
    assert [up.wait(timeout=60) for up in ups] == [0, 0, 0]
    wait_for(lambda: list(states(instance).values()).count("running") == 3, what="three run")
    assert list(states(instance).values()) == ["running", "running", "running", "pending"]
    assert [runs(own_directory, f"a-{number}") for number in (1, 2, 3, 4)] == [1, 1, 1, 0]


def test_no_more_start_at_once_than_may(instance: Instance) -> None:
    team(
        instance,
        "start_at_once = 1",
        '[agents.a]\ncommand = "cat"\nready = { log = "never" }\n[agents.b]\ncommand = "cat"\n',
    )
    instance.run("up")
    assert states(instance) == {"a": "running", "b": "pending"}
    assert ps(instance)["b"]["reason"] == "waits for others to start: 1 does, and start_at_once is 1"


def test_a_team_that_goes_down_takes_its_line_along(instance: Instance) -> None:
    team(instance, "max_agents = 1", f"[agents.a]\ncount = 3\n{NOTED}")
    instance.run("up")
    assert instance.json("down")["clean"]
    assert instance.json("ps") == []


@pytest.mark.parametrize("step", [*WAITING, "daemon.starting_written", "daemon.launched"])
def test_a_daemon_that_dies_while_it_lets_agents_in_starts_nobody_twice(
    instance: Instance, own_directory: Path, step: str
) -> None:
    team(instance, "max_agents = 2\nmemory_pressure = 0", f"[agents.a]\ncount = 4\n{NOTED}")
    once = own_directory / "once"
    deadly = {"CORRAL_FAILPOINT": f"{step}:{once}"}
    instance.run("daemon", "start", env=deadly)
    if step == "daemon.line_written":
        once.touch()
        instance.run("up", check=False)
    else:
        instance.run("up")
        once.touch()
        instance.run("stop", "a-1", check=False)
    wait_for(lambda: not once.exists(), what=f"the daemon dies at {step}")
    instance.run("daemon", "start")
    instance.run("up")
    wait_for(lambda: list(states(instance).values()).count("running") == 2, what="two run")
    assert set(states(instance).values()) <= {"running", "pending", "stopped"}
    for name, agent in ps(instance).items():
        if agent["state"] == "running":
            assert runs(own_directory, name) == 1
        else:
            assert runs(own_directory, name) <= 1
