"""`pause` and `resume` with real processes: what stands still, what goes on, and what can be done meanwhile."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.instance import Instance
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: The best level that this host has, and the one that every host has.
LEVELS = ["auto", "off"]
DEMO = json.dumps([sys.executable, "-m", "corral", "demo-agent"])
#: Adds a line to a file named after it every hundredth of a second, and so does a child in a session of its own.
COUNTING = """
import os, signal, time
name = "parent"
if os.fork() == 0:
    os.setsid()
    name = "child"
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
open(name + ".pid", "w").write(str(os.getpid()))
with open(name, "a") as file:
    while True:
        print("tick", file=file, flush=True)
        time.sleep(0.01)
"""


@pytest.fixture
def counting(instance: Instance, own_directory: Path, systemd: str) -> "Counting":
    (own_directory / "count.py").write_text(COUNTING)
    instance.spec(
        f'[team]\nname = "shop"\n[containment]\nsystemd = "{systemd}"\n'
        f"[agents.a]\ncommand = {json.dumps([sys.executable, 'count.py'])}\n"
        '[agents.b]\ncommand = ["cat"]\n'
    )
    instance.run("up")
    counting = Counting(own_directory)
    counting.must_go_on()
    return counting


class Counting:
    """What the two processes have counted."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def pids(self) -> list[int]:
        return [int((self._directory / f"{name}.pid").read_text()) for name in ("parent", "child")]

    def counts(self) -> list[int]:
        files = [self._directory / name for name in ("parent", "child")]
        return [path.stat().st_size if path.exists() else 0 for path in files]

    def must_go_on(self) -> None:
        before = self.counts()
        wait_for(lambda: all(now > then for now, then in zip(self.counts(), before, strict=True)), what="both count on")

    def must_stand_still(self, instance: Instance) -> None:
        """For as long as two looks at the agents take, which is time for many ticks."""
        before = self.counts()
        instance.json("stats")
        assert self.counts() == before


def ps(instance: Instance, agent: str = "a") -> dict[str, object]:
    (found,) = [one for one in instance.json("ps") if one["agent"] == agent]
    return {name: found[name] for name in ("state", "activity", "paused")}


PAUSED = {"state": "running", "activity": "paused", "paused": True}


def events(instance: Instance, agent: str = "a") -> list[str]:
    lines = instance.run("events", "--json", "-n", "all", "--agent", agent).stdout.splitlines()
    return [json.loads(line)["event"] for line in lines]


@pytest.mark.parametrize("systemd", LEVELS)
class TestAtEveryLevel:
    def test_everything_that_an_agent_started_stands_still_and_goes_on(
        self, instance: Instance, counting: Counting
    ) -> None:
        (held,) = instance.json("pause", "a")["agents"]
        assert (held["agent"], held["paused"], held["changed"]) == ("a", True, True)
        counting.must_stand_still(instance)
        assert ps(instance) == PAUSED
        assert ps(instance, "b")["paused"] is False
        (held,) = instance.json("pause", "a")["agents"]
        assert (held["paused"], held["changed"]) == (True, False)
        counting.must_stand_still(instance)
        (held,) = instance.json("resume", "a")["agents"]
        assert (held["paused"], held["changed"]) == (False, True)
        counting.must_go_on()
        assert ps(instance)["paused"] is False
        assert events(instance)[-3:] == ["agent.pausing", "agent.paused", "agent.resumed"]

    def test_a_daemon_and_a_keeper_that_come_later_know_it(self, instance: Instance, counting: Counting) -> None:
        instance.run("pause", "a")
        instance.run("daemon", "stop")
        keeper = int(Path(instance.runtime, "keeper.lock").read_text())
        os.kill(keeper, signal.SIGKILL)
        wait_for(lambda: not is_alive(keeper), what="the keeper has ended")
        instance.run("daemon", "start")
        assert ps(instance) == PAUSED
        counting.must_stand_still(instance)
        instance.run("resume", "--all")
        counting.must_go_on()

    def test_a_paused_agent_can_be_stopped(self, instance: Instance, counting: Counting) -> None:
        instance.run("pause", "a")
        (stopped,) = instance.json("stop", "a")["agents"]
        assert stopped["state"] == "stopped"
        assert not [pid for pid in counting.pids() if is_alive(pid)]
        assert ps(instance) == {"state": "stopped", "activity": "unknown", "paused": False}

    def test_a_paused_agent_can_be_restarted_and_is_not_paused_then(
        self, instance: Instance, counting: Counting
    ) -> None:
        instance.run("pause", "a")
        before = counting.pids()
        instance.run("restart", "a")
        assert not [pid for pid in before if is_alive(pid)]
        assert ps(instance)["paused"] is False
        counting.must_go_on()

    def test_a_paused_team_can_be_taken_down(self, instance: Instance, counting: Counting) -> None:
        assert [one["paused"] for one in instance.json("pause", "--all")["agents"]] == [True, True]
        receipt = instance.json("down")
        assert (receipt["clean"], receipt["stopped"]) == (True, ["a", "b"])
        assert not [pid for pid in counting.pids() if is_alive(pid)]


def test_what_does_not_run_cannot_be_paused(instance: Instance) -> None:
    instance.spec('[team]\nname = "shop"\n[agents.a]\ncommand = ["cat"]\n[agents.b]\ncommand = ["cat"]\n')
    instance.run("up")
    instance.run("stop", "b")
    for command in ("pause", "resume"):
        code, error = instance.error(command, "a", "b")
        assert (code, error["code"]) == (1, "failed")
        assert "b is stopped" in error["message"]
        assert "corral restart b" in error["remedy"]
    assert ps(instance)["paused"] is False
    assert [one["paused"] for one in instance.json("pause", "--all")["agents"]] == [True, False]
    instance.run("stop", "--all")
    assert instance.error("pause", "--all")[0] == 1


def test_nothing_is_said_to_a_paused_agent(instance: Instance) -> None:
    instance.spec(f'[team]\nname = "shop"\n[agents.a]\ncommand = {DEMO}\n')
    instance.run("up")
    instance.run("pause", "a")
    code, error = instance.error("send", "a", "say: hello")
    assert (code, error["code"]) == (4, "refused")
    assert "corral resume a" in error["remedy"]
    assert not [event for event in events(instance) if event.startswith("message.")]
    instance.run("resume", "a")
    assert instance.json("send", "a", "say: hello")["state"] == "submitted"
    wait_for(lambda: "hello" in instance.run("logs", "a").stdout, what="the answer in the log")


def test_a_first_prompt_waits_until_its_agent_goes_on(instance: Instance, own_directory: Path) -> None:
    # It is not ready before this file is there, so it is paused before its prompt can be said.
    ready = own_directory / "ready"
    instance.spec(
        f'[team]\nname = "shop"\n[agents.a]\n'
        f'command = "until [ -e {ready} ]; do echo; sleep 0.05; done; exec {sys.executable} -m corral demo-agent"\n'
        'prompt = "say: first words"\n'
    )
    instance.run("up")
    instance.run("pause", "a")
    (agent,) = instance.json("ps")
    assert agent["prompt"] == "held"
    ready.touch()
    # A screen that stands still counts as ready to take words after two seconds; the journal would tell.
    with instance.follow("events", "-f", "--json", "-n", "0") as stream, pytest.raises(AssertionError, match="no line"):
        stream.line(3)
    instance.run("resume", "a")
    with instance.follow("events", "-f", "--json", "-n", "100") as stream:
        stream.until(lambda event: event["event"] == "prompt.submitted")
    wait_for(lambda: "first words" in instance.run("logs", "a").stdout, what="the prompt in the log")
