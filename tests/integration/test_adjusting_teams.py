"""Labels and the terms of leases change with the next `up`, and nothing is restarted for it."""

import os
import signal
from typing import Any

from tests.faults.support.teams import IDLE, events, pids, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

_TERMS = '[leases]\nsuspect = "1s"\n'


def up(instance: Instance, more: str = "", **keys: object) -> Any:
    instance.spec(toml({"a": {"command": IDLE, **keys}}) + more)
    return instance.json("up")


def test_an_agent_that_runs_gets_other_labels_and_other_terms(instance: Instance) -> None:
    up(instance)
    before = pids(instance)
    for title, label in (("one", "python"), ("two", "gpu")):
        instance.run("task", "add", title, "--label", label)
    assert instance.error("task", "claim", "--agent", "a")[0] == 3
    answer = up(instance, _TERMS, labels=["python"])
    assert [agent["action"] for agent in answer["agents"]] == ["adjust"]
    assert pids(instance) == before
    assert instance.json("task", "claim", "--agent", "a")["title"] == "one"
    assert instance.error("task", "claim", "--agent", "a")[0] == 3
    assert instance.json("task", "claim", "--agent", "a", "--label", "gpu")["title"] == "two"
    told = {event["event"]: event["data"] for event in events(instance)}
    assert told["agent.adjusted"]["changed"] == ["labels"]
    assert told["team.adjusted"]["changed"] == ["leases.suspect"]
    assert not up(instance, _TERMS, labels=["python"])["changed"]


def test_what_a_dead_agent_held_is_free_after_the_delay_of_the_file(instance: Instance) -> None:
    up(instance, _TERMS)
    instance.run("lease", "acquire", "--agent", "a", "src/")
    os.kill(pids(instance)["a"], signal.SIGKILL)
    wait_for(lambda: not instance.json("lease", "ls")["leases"], 20, "it has expired")
    assert [event["event"] for event in events(instance) if event["event"].startswith("lease.")] == [
        "lease.granted",
        "lease.suspect",
        "lease.expired",
    ]
