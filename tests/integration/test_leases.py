"""`corral lease` and `corral lock` with real agents: who holds what, who dies, and who gets it then."""

import http.client
import itertools
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, pids, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for


@pytest.fixture(autouse=True)
def _up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 6}}))
    instance.env["PATH"] = f"{os.path.dirname(instance.argv()[0])}:{os.environ['PATH']}"
    instance.run("up")


def acquire(instance: Instance, agent: str, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = instance.json("lease", "acquire", "--agent", agent, *words)
    return answer


def told(instance: Instance) -> list[str]:
    """What the journal says of leases."""
    entries = [json.loads(line) for line in instance.run("events", "-n", "all", "--json").stdout.splitlines()]
    return [entry["event"] for entry in entries if entry["event"].startswith("lease.")]


def test_a_file_is_held_checked_and_given_back(instance: Instance) -> None:
    lease = acquire(instance, "a-1", "src/", "*.md")
    code, error = instance.error("lease", "acquire", "--agent", "a-2", "src/api.py")
    assert (code, error["holder"], error["pattern"]) == (4, "shop/a-1", "src/")
    assert instance.run("lease", "check", "--agent", "a-2", "src/api.py", check=False).returncode == 4
    assert instance.run("lease", "check", "--agent", "a-1", "src/api.py").returncode == 0
    assert "shop/a-1" in instance.run("lease", "ls").stdout
    instance.run("lease", "release", "--agent", "a-1", lease["lease"])
    assert acquire(instance, "a-2", "src/api.py")["token"] > lease["token"]


def test_an_agents_own_command_needs_no_name(instance: Instance) -> None:
    instance.run("exec", "a-1", "-c", "corral lease acquire src/ && corral lease check src/x")
    assert instance.json("lease", "ls")["leases"][0]["agent"] == "shop/a-1"


def test_two_names_of_a_file_are_one_and_what_leads_out_is_refused(instance: Instance) -> None:
    directory = Path(instance.directory)
    (directory / "src").mkdir()
    (directory / "alias").symlink_to("src")
    (directory / "out").symlink_to("/etc")
    (directory / "app[1]").mkdir()
    (directory / "one").symlink_to("app[1]")
    assert acquire(instance, "a-1", "alias/*.py")["patterns"] == ["src/*.py"]
    assert instance.error("lease", "acquire", "--agent", "a-2", "src/api.py")[0] == 4
    assert instance.run("lease", "check", "--agent", "a-2", "alias/x.py", check=False).returncode == 4
    code, error = instance.error("lease", "acquire", "--agent", "a-2", "out/passwd")
    assert (code, "leads out of the repository" in error["message"]) == (4, True)
    acquire(instance, "a-1", "one/")
    assert instance.run("lease", "check", "--agent", "a-2", "app[1]/x", check=False).returncode == 4


def test_a_lease_outlives_the_daemon_and_goes_when_its_agent_is_stopped(instance: Instance) -> None:
    lease = acquire(instance, "a-1", "src/")
    kill_daemon(instance)
    instance.run("daemon", "start")
    assert instance.error("lease", "acquire", "--agent", "a-2", "src/x")[0] == 4
    instance.run("stop", "a-1")
    assert acquire(instance, "a-2", "src/x")["token"] > lease["token"]


def test_the_lease_of_an_agent_that_died_is_suspect_and_then_goes(instance: Instance) -> None:
    acquire(instance, "a-1", "--ttl", "1s", "src/")
    os.kill(pids(instance)["a-1"], signal.SIGKILL)
    assert acquire(instance, "a-2", "--wait", "30s", "src/x")["agent"] == "shop/a-2"
    assert told(instance) == ["lease.granted", "lease.suspect", "lease.expired", "lease.granted"]


def test_a_lock_is_held_while_its_command_runs_and_not_longer(instance: Instance) -> None:
    done = instance.run("lock", "deploy", "--", "sh", "-c", 'echo "$CORRAL_LOCK_TOKEN"; corral lock ls --json')
    token, listed = done.stdout.split("\n", 1)
    (lock,) = json.loads(listed)["leases"]
    assert (lock["token"], lock["patterns"]) == (int(token), ["deploy"])
    assert instance.json("lock", "ls")["leases"] == []
    assert instance.run("lock", "x", "--", "sh", "-c", "exit 7", check=False).returncode == 7
    assert instance.run("lock", "x", "--", "sh", "-c", "kill -9 $$", check=False).returncode == 137
    assert instance.run("lock", "x", "--", "no-such-program", check=False).returncode == 3
    assert instance.json("lock", "ls")["leases"] == []


def test_with_json_a_lock_leaves_standard_output_to_its_command(instance: Instance) -> None:
    done = instance.run("lock", "deploy", "--json", "--", "echo", "hi")
    assert done.stdout == "hi\n"
    lock = json.loads(done.stderr)
    assert (lock["patterns"], lock["mode"]) == (["deploy"], "exclusive")


def test_the_list_can_be_of_one_agent(instance: Instance) -> None:
    acquire(instance, "a-1", "x")
    acquire(instance, "a-2", "y")
    for name in ("a-2", "shop/a-2"):
        assert [one["patterns"] for one in instance.json("lease", "ls", "--agent", name)["leases"]] == [["y"]]
    assert len(instance.json("lease", "ls")["leases"]) == 2


class Rival(threading.Thread):
    """Takes and gives back the same file as fast as it can, and writes down when it had it."""

    def __init__(self, path: str, agent: str) -> None:
        super().__init__()
        self._path = path
        self._agent = agent
        #: Token, from and to, on one clock: it was certainly held in between.
        self.held: list[tuple[int, float, float]] = []
        self.wrong: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            connection = http.client.HTTPConnection("corral")
            connection.sock = socket.socket(socket.AF_UNIX)
            try:
                connection.sock.connect(self._path)
                while not self.over.is_set():
                    self._cycle(connection)
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)  # the daemon is away
            finally:
                connection.close()

    def _cycle(self, connection: http.client.HTTPConnection) -> None:
        status, lease = self._ask(connection, "/v1/leases", {"patterns": ["x"], "wait": 5})
        if status != 200:
            return
        since = time.monotonic()
        until = time.monotonic()
        status, answer = self._ask(connection, f"/v1/leases/{lease['lease']}/release", {"token": lease["token"]})
        if status == 200:
            self.held.append((lease["token"], since, until))
        else:
            self.wrong.append(str(answer))

    def _ask(self, connection: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        connection.request("POST", f"{path}?team=shop&agent={self._agent}", json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_no_two_hold_it_at_once_though_the_daemon_is_killed_again_and_again(instance: Instance) -> None:
    path = os.path.join(instance.runtime, "daemon.sock")
    rivals = [Rival(path, f"a-{number}") for number in range(1, 7)]
    for rival in rivals:
        rival.start()
    for _ in range(4):
        rivals[0].join(0.7)
        kill_daemon(instance)
        instance.run("daemon", "start")
        # One who was answered and could not give it back: a person may.
        for lease in instance.json("lease", "ls")["leases"]:
            instance.run("lease", "release", "--agent", lease["agent"], lease["lease"], check=False)
    try:
        wait_for(lambda: all(len(rival.held) > 1 for rival in rivals), what="everybody had it")
    finally:
        for rival in rivals:
            rival.over.set()
        for rival in rivals:
            rival.join()
    history = sorted(entry for rival in rivals for entry in rival.held)
    assert len({token for token, _, _ in history}) == len(history)
    for (_, _, until), (_, since, _) in itertools.pairwise(history):
        # In the order of the tokens, which only grow, each had it after the one before had begun to give it back.
        assert since >= until, "two held it at once"
