"""What belongs to the sessions of agents goes with them: leases, locks and claims. Messages and tasks stay."""

import json
from pathlib import Path

from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

SPEC = toml({"a": {"command": IDLE}, "b": {"command": IDLE}}) + '[leases]\nlock = "1h"\n'


def given(instance: Instance) -> None:
    """A team whose agents have something of everything."""
    instance.spec(SPEC)
    instance.run("up")
    for agent in ("a", "b"):
        instance.run("lease", "acquire", "--agent", agent, f"src/{agent}/")
    instance.run("lease", "acquire", "docs/")  # a person's
    for title in ("one", "two"):
        instance.run("task", "add", title)
    instance.run("task", "claim", "--agent", "a")
    instance.run("msg", "send", "a", "-m", "read me")
    command = instance.argv("lock", "deploy", "--", "sleep", "86400")
    lock = json.loads(instance.run("exec", "--json", "--background", "b", "--", *command).stdout)
    wait_for(lambda: instance.json("lock", "ls")["leases"], 20, "the lock is held")
    instance.run("proc", "signal", lock["process_id"], "KILL")  # it has no time to give it back


def test_down_gives_back_what_agents_had_and_says_so(instance: Instance) -> None:
    given(instance)
    receipt = instance.json("down")
    assert receipt["clean"]
    assert receipt["given_back"] == {"leases": 2, "locks": 1, "claims": 1}
    assert receipt["waiting"].items() >= {"messages": 1, "tasks": 2}.items()
    assert {check["what"]: check["found"] for check in receipt["checks"]}.items() >= {"leases": 0, "claims": 0}.items()
    instance.run("up")
    assert [lease["patterns"] for lease in instance.json("lease", "ls")["leases"]] == [["docs/"]]
    assert instance.json("lock", "ls")["leases"] == []
    tasks = instance.json("task", "ls")["tasks"]
    assert [(task["title"], task["state"], task["attempt"]) for task in tasks] == [
        ("one", "ready", 0),
        ("two", "ready", 0),
    ]
    assert len(instance.json("msg", "inbox", "--agent", "a")["messages"]) == 1


def test_the_receipt_tells_a_person(instance: Instance) -> None:
    given(instance)
    said = instance.run("down").stdout
    assert "given back by its agents: 2 leases, 1 lock, 1 claim" in said
    assert "waits for the next team of this name: 1 message, 2 tasks" in said
    told = [json.loads(line) for line in instance.run("events", "--json", "-n", "all").stdout.splitlines()]
    down = next(event for event in told if event["event"] == "team.down")
    assert down["data"]["given_back"] == {"leases": 2, "locks": 1, "claims": 1}
    assert not Path(instance.runtime, "launch", "shop").exists()
