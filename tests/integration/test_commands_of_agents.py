"""What `corral exec` starts is the agent's: its tmux, its end, its count, and nobody else's."""

import http.client
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

#: Takes a moment to end in good order, and dies of a hang-up.
_TIDY = "trap 'sleep 0.3; echo tidied >\"$0\"; exit 0' TERM; echo ready; while :; do sleep 0.05; done"


@pytest.fixture(autouse=True)
def _up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}))
    instance.run("up")


def ask(instance: Instance, method: str, target: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """A request to the daemon, as a program makes it."""
    connection = http.client.HTTPConnection("corral")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(os.path.join(instance.runtime, "daemon.sock"))
    try:
        connection.request(method, target, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def begin(instance: Instance, *argv: str) -> str:
    """Start a command of agent a in the background; its id."""
    done = instance.run("exec", "a", "--json", "--background", "--", *argv)
    process: str = json.loads(done.stdout)["process_id"]
    return process


def test_a_tmux_that_a_command_starts_is_the_agents_own(instance: Instance) -> None:
    script = "tmux new-session -d -s mine 'exec sleep 1000'; tmux list-sessions -F '#{session_name}'; echo $TMUX_TMPDIR"
    first, own = instance.run("exec", "a", "-c", script).stdout.split()
    assert first == "mine"
    assert own.startswith(instance.runtime)
    assert instance.json("down")["clean"]


@pytest.mark.parametrize("end", ["stop", "down"])
def test_who_ends_an_agent_lets_its_commands_end_in_good_order(
    instance: Instance, own_directory: Path, end: str
) -> None:
    note = own_directory / "note"
    process = begin(instance, "sh", "-c", _TIDY, str(note))
    instance.run("proc", "output", "--until", "ready", "--wait", "20s", process)
    instance.run(*(("stop", "a") if end == "stop" else ("down",)))
    assert note.read_text() == "tidied\n"


def test_an_agent_without_a_terminal_ends_in_good_order(instance: Instance, own_directory: Path) -> None:
    note = own_directory / "note"
    instance.spec(toml({"c": {"command": ["sh", "-c", _TIDY, str(note)], "terminal": "none"}}))
    instance.run("down")
    instance.run("up")
    wait_for(lambda: "ready" in instance.run("logs", "c").stdout, what="the agent is ready")
    instance.run("stop", "c")
    assert note.read_text() == "tidied\n"


def test_what_outlives_a_command_counts_until_it_ends(instance: Instance) -> None:
    done = instance.json("exec", "a", "-c", "sleep 1000 >/dev/null 2>&1 & exit 0")
    if not instance.json("ps")[0]["containment"] or instance.json("ps")[0]["containment"] == "process":
        pytest.skip("without cgroups, what outlives a command is only found by looking for it")
    assert [one["command"] for one in done["survivors"]] == ["sleep 1000"]
    wait_for(lambda: instance.json("ps")[0]["processes"] == 1, what="it is counted")
    instance.run("proc", "kill", done["process_id"])
    wait_for(lambda: instance.json("ps")[0]["processes"] == 0, what="it is counted no more")


def test_another_agents_id_is_not_found(instance: Instance) -> None:
    body = {"process_id": "p0123456789", "command": "echo of a"}
    assert ask(instance, "POST", "/v1/exec?agent=a", body)[0] == 200
    status, answer = ask(instance, "POST", "/v1/exec?agent=b", {**body, "command": "echo of b"})
    assert (status, answer["error"]["code"]) == (404, "not_found")
    assert ask(instance, "POST", "/v1/exec?agent=a", body)[1]["output"] == "of a\n"
    wait_for(lambda: instance.json("ps")[1]["processes"] == 0, what="nothing of b is counted")


def test_what_nobody_holds_open_is_closed_when_the_end_is_told(instance: Instance) -> None:
    told = [ask(instance, "POST", "/v1/exec?agent=a", {"command": "echo hi; exit 3"})[1] for _ in range(50)]
    assert {(one["exit_code"], one["closed"], one["output"]) for one in told} == {(3, True, "hi\n")}


def test_output_that_somebody_removed_is_told_as_left_out(instance: Instance) -> None:
    process = instance.json("exec", "a", "-c", "echo 0123456789")["process_id"]
    shutil.rmtree(os.path.join(instance.home, "processes", "shop", process))
    page = instance.json("proc", "output", process)
    assert (page["next"], page["omitted_bytes"]) == (11, 11)
