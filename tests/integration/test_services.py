"""Services, what they have to show before they count as ready, and agents that start after them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import events
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: Listens on its own port once a file is there, and says nothing.
LISTENS = """
import os, pathlib, socket, time
while not pathlib.Path("go").exists():
    time.sleep(0.02)
listening = socket.create_server(("127.0.0.1", int(os.environ["CORRAL_PORT_WEB"])))
time.sleep(600)
"""


def ps(instance: Instance) -> dict[str, dict[str, Any]]:
    return {agent["agent"]: agent for agent in instance.json("ps")}


def ready(instance: Instance, name: str) -> Any:
    return wait_for(lambda: ps(instance)[name]["ready"], what=f"{name} is ready")


def test_an_agent_starts_by_itself_once_what_it_comes_after_is_ready(instance: Instance, own_directory: Path) -> None:
    instance.spec(
        '[team]\nname = "shop"\n'
        '[agents.db]\ncommand = "while [ ! -e go ]; do sleep 0.02; done; echo ready to serve; sleep 600"\n'
        'kind = "service"\nready = { log = "^ready to" }\n'
        '[agents.api]\ncommand = ["cat"]\nafter = ["db"]\n'
        '[agents.docs]\ncommand = ["cat"]\n'
    )
    done = instance.json("up")
    assert [(one["agent"], one["action"]) for one in done["agents"]] == [
        ("db", "start"),
        ("api", "pending"),
        ("docs", "start"),
    ]
    assert done["agents"][1]["detail"] == "waits for db to be ready"
    seen = ps(instance)
    assert (seen["db"]["kind"], seen["db"]["ready"], seen["db"]["state"]) == ("service", False, "running")
    assert (seen["api"]["state"], seen["api"]["reason"]) == ("pending", "waits for db to be ready")
    assert seen["docs"]["ready"], "without a rule and without a prompt it is ready when it runs"
    text = instance.run("ps").stdout
    assert "not ready" in text
    assert "shop/api pending: waits for db to be ready" in text
    (own_directory / "go").touch()
    wait_for(lambda: ps(instance)["api"]["state"] == "running", what="api runs")
    assert ps(instance)["db"]["ready"]
    journal = map(json.loads, instance.run("events", "-n", "100", "--json").stdout.splitlines())
    (told,) = [event for event in journal if (event["agent"], event["event"]) == ("db", "agent.ready")]
    assert told["data"]["evidence"] == "it wrote 'ready to serve'"


def test_up_can_wait_for_those_that_start_later(instance: Instance) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.a]\ncommand = "echo up; cat"\nready = { log = "^up$" }\n'
        '[agents.b]\ncommand = ["cat"]\nafter = ["a"]\n[agents.c]\ncommand = ["cat"]\nafter = ["b"]\n'
    )
    done = instance.json("up", "--wait", "60s")
    assert {one["agent"]: (one["action"], one["state"]) for one in done["agents"]} == dict.fromkeys(
        "abc", ("start", "running")
    )


def test_waiting_ends_where_somebody_has_to_do_something(instance: Instance) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.a]\ncommand = ["false"]\n[agents.b]\ncommand = ["cat"]\nafter = ["a"]\n'
    )
    done = instance.run("up", "--wait", "60s", check=False)
    assert done.returncode == 1, "a failed, which tells more than that b waits"
    assert ps(instance)["b"]["reason"].startswith("waits for a, which is failed (exit 1): corral restart shop/a")
    code, error = instance.error("logs", "--screen", "b")
    assert (code, error["message"].startswith("b is pending: waits for a, which is failed (exit 1)")) == (3, True)
    assert instance.error("attach", "b")[1] == error, "it is said which agent has no terminal, and why"
    instance.run("rm", "a", "--force")
    code, error = instance.error("up", "b", "--wait", "60s")
    assert code == 4
    assert "a, which is not up" in error["message"]


def test_a_port_of_its_own_that_somebody_of_it_listens_on(instance: Instance, own_directory: Path) -> None:
    (own_directory / "serve.py").write_text(LISTENS)
    command = json.dumps([sys.executable, "serve.py"])
    instance.spec(
        f'[team]\nname = "shop"\n[agents.web]\ncommand = {command}\nkind = "service"\nports = ["web"]\n'
        'ready = { port = "web" }\n'
    )
    instance.run("up")
    assert not ps(instance)["web"]["ready"]
    (own_directory / "go").touch()
    ready(instance, "web")


@pytest.mark.parametrize("terminal", ["tmux", "none"])
def test_a_command_beside_it_that_succeeds(instance: Instance, own_directory: Path, terminal: str) -> None:
    instance.spec(
        f'[team]\nname = "shop"\n[agents.db]\ncommand = ["sleep", "600"]\nkind = "service"\nterminal = "{terminal}"\n'
        'ready = { command = "test -e go && test $CORRAL_AGENT = db" }\n'
    )
    instance.run("up")
    assert not ps(instance)["db"]["ready"]
    (own_directory / "go").touch()
    ready(instance, "db")
    assert instance.json("proc", "ls", "-t", "shop") == [], "it was no command of the agent's"


def test_readiness_survives_the_daemon_and_is_seen_by_the_next_keeper(instance: Instance, own_directory: Path) -> None:
    instance.spec(
        '[team]\nname = "shop"\n'
        '[agents.a]\ncommand = "echo ready; cat"\nkind = "service"\nready = { log = "^ready" }\n'
        '[agents.b]\ncommand = "while [ ! -e go ]; do sleep 0.02; done; echo ready; cat"\nkind = "service"\n'
        'ready = { log = "^ready" }\n'
    )
    instance.run("up")
    ready(instance, "a")
    instance.run("daemon", "stop")
    (own_directory / "go").touch()
    instance.run("daemon", "start")
    assert ps(instance)["a"]["ready"]
    ready(instance, "b")


def test_a_restarted_service_has_to_be_ready_again(instance: Instance, own_directory: Path) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.db]\nkind = "service"\nready = { log = "^ready" }\n'
        'command = "while [ ! -e go ]; do sleep 0.02; done; echo ready; sleep 600"\n'
    )
    (own_directory / "go").touch()
    instance.run("up")
    ready(instance, "db")
    (own_directory / "go").unlink()
    instance.run("restart", "db")
    assert not ps(instance)["db"]["ready"]


# Late


def test_a_service_that_never_is_ready_is_told_of_and_those_after_it_say_what_they_wait_for(instance: Instance) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.db]\nkind = "service"\nready = { port = "PORT" }\nstart_timeout = "1s"\n'
        'command = "sleep 1000"\n[agents.b]\ncommand = "sleep 600"\nafter = ["db"]\n'
    )
    # Whoever waits for those that wait is not kept waiting for what nobody can expect any more.
    instance.run("up", "--wait", "1h", check=False)
    late = "it is not ready 1s after its start: it waits for port PORT to be listened on"
    found = ps(instance)
    assert (found["db"]["state"], found["db"]["ready"]) == ("running", False)
    assert any(notice.startswith(late) for notice in found["db"]["notices"])
    wait_for(lambda: late in ps(instance)["b"]["reason"], 20, "the other one says what it waits for")
    assert ps(instance)["b"]["state"] == "pending"
    (told,) = [event for event in events(instance) if event["event"] == "agent.late"]
    assert (told["agent"], told["outcome"], told["data"]["reason"]) == ("db", "failed", late)
    wait_for(lambda: instance.json("inbox")["entries"], 20, "a person is asked")
    (entry,) = instance.json("inbox")["entries"]
    assert (entry["agent"], entry["kind"], entry["what"]) == ("db", "stuck", late)


def test_one_that_is_late_is_started_again_by_its_policy_and_fails_in_the_end(instance: Instance) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.db]\nkind = "service"\nready = { log = "^ready" }\nstart_timeout = "300ms"\n'
        'command = "echo cannot bind; sleep 1000"\n'
        'restart = { policy = "on-failure", attempts = 1, delay = "50ms" }\n'
    )
    instance.run("up")
    wait_for(lambda: ps(instance)["db"]["state"] == "failed", 40, "it is given up")
    found = ps(instance)["db"]
    assert found["restarts"] == 1
    assert "it is not ready 300ms after its start: it waits for a line with '^ready'" in found["reason"]
    assert "crash loop" in found["reason"]
    assert found["last_words"] == "cannot bind", "as it would be of one that ends by itself"


def test_one_that_is_ready_after_all_is_late_no_more(instance: Instance, own_directory: Path) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.db]\nkind = "service"\nready = { log = "^ready" }\nstart_timeout = "200ms"\n'
        'terminal = "none"\ncommand = "while [ ! -e go ]; do sleep 0.02; done; echo ready; sleep 600"\n'
        '[agents.b]\ncommand = "sleep 600"\nafter = ["db"]\n'
    )
    instance.run("up")
    wait_for(lambda: instance.json("inbox")["entries"], 20, "a person is asked")
    (own_directory / "go").touch()
    ready(instance, "db")
    wait_for(lambda: not instance.json("inbox")["entries"], 20, "nobody is asked any more")
    wait_for(lambda: ps(instance)["b"]["state"] == "running", 20, "who came after it has started")
    assert ps(instance)["db"]["notices"] == []


def test_a_prompt_that_cannot_be_said_is_told_of(instance: Instance) -> None:
    instance.spec(
        '[team]\nname = "shop"\n[agents.a]\nprompt = "hello"\nstart_timeout = "1s"\n'
        'command = "while true; do date; sleep 0.1; done"\n'
    )
    instance.run("up")
    told = wait_for(lambda: ps(instance)["a"]["notices"], 20, "ps says so")
    assert told[0].startswith("it is not ready 1s after its start, so its first prompt is not said: its output has not")
    assert told[0] in instance.run("ps").stdout
    wait_for(lambda: instance.json("inbox")["entries"], 20, "a person is asked")


def test_of_a_service_that_is_forked_nothing_is_said_of_conversations(instance: Instance) -> None:
    instance.spec('[team]\nname = "shop"\n[agents.db]\nkind = "service"\ncommand = "sleep 600"\n')
    instance.run("up")
    made = instance.json("fork", "db", "other")
    assert (made["state"], made["session"]) == ("running", "")
    assert not [note for note in made["notes"] if "conversation" in note]
