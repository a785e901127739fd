"""The whole path: a file, `up`, `ps`, `send`, `logs`, `down`, and the proof that nothing is left."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.instance import Instance
from tests.support.repos import git
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: The shipped demo agent, also where `corral` is not on the PATH.
DEMO = json.dumps([sys.executable, "-m", "corral", "demo-agent"])
SHOP = """
[team]
name = "shop"

[agents.a]
command = ["cat"]
[agents.b]
command = "echo hello from a shell; exec cat"
"""


def states(instance: Instance) -> dict[str, str]:
    return {agent["agent"]: agent["state"] for agent in instance.json("ps")}


def event_names(instance: Instance, agent: str = "") -> list[str]:
    lines = instance.run("events", "--json", "-n", "500").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    return [event["event"] for event in events if not agent or event["agent"] == agent]


def test_up_starts_what_is_declared_and_down_leaves_nothing(instance: Instance) -> None:
    instance.spec(SHOP)
    result = instance.json("up")
    assert [(agent["agent"], agent["action"], agent["state"]) for agent in result["agents"]] == [
        ("a", "start", "running"),
        ("b", "start", "running"),
    ]
    pids = [agent["pid"] for agent in instance.json("ps")]
    receipt = instance.json("down")
    assert receipt["clean"] is True
    found = {check["what"]: check["found"] for check in receipt["checks"]}
    assert found.keys() >= {"processes", "tmux_servers", "sockets", "ports", "worktrees"}
    assert set(found.values()) == {0}
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    assert instance.json("ps") == []


def test_up_twice_changes_nothing(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    before = instance.json("ps")
    events = event_names(instance)
    assert instance.json("up")["changed"] is False
    assert [agent["pid"] for agent in instance.json("ps")] == [agent["pid"] for agent in before]
    assert event_names(instance) == events


def test_up_of_some_agents_starts_only_those(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up", "b")
    assert states(instance) == {"b": "running"}
    instance.run("up")
    assert states(instance) == {"a": "running", "b": "running"}


def test_a_plan_is_shown_and_nothing_is_started(instance: Instance) -> None:
    instance.spec(SHOP)
    plan = instance.json("up", "--dry-run")
    assert [(agent["agent"], agent["action"]) for agent in plan["agents"]] == [("a", "start"), ("b", "start")]
    assert not os.path.exists(instance.home)


def test_a_changed_agent_is_named_and_restarted_only_when_asked_for(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    before = {agent["agent"]: agent["pid"] for agent in instance.json("ps")}
    instance.spec(SHOP.replace('command = ["cat"]', 'command = ["cat"]\nenv = { COLOUR = "red" }'))
    (changed,) = [agent for agent in instance.json("up")["agents"] if agent["action"] != "keep"]
    assert (changed["agent"], changed["action"], changed["differs"]) == ("a", "changed", ["env.COLOUR"])
    assert {agent["agent"]: agent["pid"] for agent in instance.json("ps")} == before
    instance.run("up", "--restart-changed")
    after = {agent["agent"]: agent["pid"] for agent in instance.json("ps")}
    assert after["b"] == before["b"]
    assert after["a"] != before["a"]
    assert b"COLOUR=red" in Path(f"/proc/{after['a']}/environ").read_bytes()


def test_an_agent_that_left_the_file_is_named_and_left_alone(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    instance.spec(SHOP.split("[agents.b]")[0])
    extra = [agent for agent in instance.json("up")["agents"] if agent["action"] == "extra"]
    assert [agent["agent"] for agent in extra] == ["b"]
    assert states(instance)["b"] == "running"


def test_words_go_in_and_come_out(instance: Instance) -> None:
    instance.spec(f'[team]\nname = "shop"\n[agents.d]\ncommand = {DEMO}\n')
    instance.run("up")
    with instance.follow("logs", "-f", "--raw", "--json", "d") as logs:
        logs.until(lambda entry: "demo> " in entry["text"])
        receipt = instance.json("send", "d", "say: one;")
        assert (receipt["state"], receipt["bytes"]) == ("submitted", 9)
        logs.until(lambda entry: "done." in entry["text"])
    assert "one;" in instance.run("logs", "d").stdout


def test_the_prompt_is_delivered_when_the_agent_is_ready(instance: Instance) -> None:
    instance.spec(f'[team]\nname = "shop"\n[agents.d]\ncommand = {DEMO}\nprompt = "say: first words"\n')
    instance.run("up")
    with instance.follow("events", "-f", "--json", "-n", "100") as events:
        submitted = events.until(lambda event: event["event"] == "prompt.submitted")
    assert submitted["agent"] == "d"
    wait_for(lambda: "first words" in instance.run("logs", "d").stdout, what="the prompt in the log")


def test_each_agent_works_in_a_worktree_of_its_own(instance: Instance, repo: Callable[..., Path]) -> None:
    where = repo()
    instance.spec('[team]\nname = "shop"\nrepo = "."\n[agents.w]\ncommand = ["cat"]\ncount = 2\n', where)
    instance.run("up", cwd=where)
    agents = instance.json("ps")
    assert [os.readlink(f"/proc/{agent['pid']}/cwd") for agent in agents] == [agent["workspace"] for agent in agents]
    assert len({agent["workspace"] for agent in agents}) == 2
    assert git(agents[0]["workspace"], "branch", "--show-current") == "corral/shop/w-1"
    receipt = instance.json("down", cwd=where)
    assert receipt["kept"] == []
    assert not os.path.exists(agents[0]["workspace"])
    assert git(where, "branch", "--list", "corral/*") == ""


def test_work_that_is_nowhere_else_is_kept_and_named(instance: Instance, repo: Callable[..., Path]) -> None:
    where = repo()
    instance.spec('[team]\nname = "shop"\nrepo = "."\n[agents.w]\ncommand = ["cat"]\n', where)
    instance.run("up", cwd=where)
    (agent,) = instance.json("ps")
    Path(agent["workspace"], "new.txt").write_text("work\n")
    receipt = instance.json("down", cwd=where)
    assert receipt["clean"] is True
    assert [(kept["path"], kept["why"]) for kept in receipt["kept"]] == [(agent["workspace"], "1 untracked file")]
    assert Path(agent["workspace"], "new.txt").read_text() == "work\n"


def test_stop_restart_and_rm(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    before = {agent["agent"]: agent["pid"] for agent in instance.json("ps")}
    instance.run("stop", "a")
    assert states(instance) == {"a": "stopped", "b": "running"}
    assert not os.path.exists(f"/proc/{before['a']}")
    instance.run("restart", "a", "b")
    after = {agent["agent"]: agent["pid"] for agent in instance.json("ps")}
    assert not set(after.values()) & set(before.values())
    code, error = instance.error("rm", "a")
    assert (code, error["code"]) == (4, "refused")
    instance.run("rm", "--force", "a")
    assert states(instance) == {"b": "running"}


@pytest.mark.parametrize(
    ("policy", "command", "expected"),
    [("never", "exit 3", "failed"), ("on-failure", "exit 0", "stopped")],
)
def test_an_agent_that_ends_is_left_as_its_policy_says(
    instance: Instance, policy: str, command: str, expected: str
) -> None:
    instance.spec(f'[team]\nname = "shop"\n[agents.a]\ncommand = "{command}"\nrestart = "{policy}"\n')
    instance.run("up", check=False)
    wait_for(lambda: states(instance) == {"a": expected}, what=f"{policy} after {command}")


@pytest.mark.parametrize("policy", ["always", "on-failure"])
def test_an_agent_that_dies_is_started_again(instance: Instance, policy: str) -> None:
    instance.spec(f'[team]\nname = "shop"\n[agents.a]\ncommand = ["cat"]\nrestart = "{policy}"\n')
    instance.run("up")
    (before,) = instance.json("ps")
    known = len(instance.run("events", "--json", "-n", "all").stdout.splitlines())
    os.kill(before["pid"], 9)
    with instance.follow("events", "-f", "--json", "--after", str(known)) as events:
        exited = events.until(lambda event: event["event"] == "agent.exited")
        events.until(lambda event: event["event"] == "agent.started")
    assert (exited["data"]["exit_code"], exited["data"]["signal"]) == (137, "SIGKILL")
    (after,) = instance.json("ps")
    assert (after["state"], after["restarts"]) == ("running", 1)
    assert after["pid"] != before["pid"]


def test_what_an_agent_started_goes_with_it(instance: Instance) -> None:
    script = "sleep 1001 & setsid sleep 1002 & (trap '' TERM HUP; exec sleep 1003) & nohup sleep 1004 & exec cat"
    instance.spec(f'[team]\nname = "shop"\n[agents.a]\ncommand = "{script}"\n')
    instance.run("up")
    assert instance.json("down", "--grace", "0.3")["clean"] is True


def test_attach_joins_the_terminal(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    done = instance.run("attach", "a", check=False)
    assert done.returncode == 2
    assert "terminal" in done.stderr
    assert "agent.attached" not in instance.run("events").stdout, "somebody who was refused was not there"
