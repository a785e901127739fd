"""`corral kv` as a person and a script use it, and what becomes of values when the daemon is killed."""

import http.client
import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance


@pytest.fixture(autouse=True)
def _up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")


def test_a_value_is_put_seen_and_removed(instance: Instance) -> None:
    revision = instance.json("kv", "put", "build/status", "green")["revision"]
    assert instance.run("kv", "get", "build/status").stdout == "green"
    assert instance.json("kv", "get", "build/status")["revision"] == revision
    listed = instance.run("kv", "ls").stdout
    assert "build/status" in listed
    assert "green" in listed
    instance.run("kv", "rm", "build/status")
    assert instance.run("kv", "get", "build/status", check=False).returncode == 3
    assert instance.run("kv", "rm", "build/status", check=False).returncode == 3
    assert instance.run("kv", "ls").stdout == ""


def test_a_lost_compare_is_exit_4_and_names_what_is_there(instance: Instance) -> None:
    revision = instance.json("kv", "put", "--if-revision", "0", "k", "1")["revision"]
    code, error = instance.error("kv", "put", "--if-revision", "0", "k", "2")
    assert (code, error["key"], error["revision"]) == (4, "k", revision)
    instance.run("kv", "put", "--if-revision", str(revision), "k", "2")
    assert instance.run("kv", "get", "k").stdout == "2"


def test_bytes_go_in_and_out_as_they_are(instance: Instance, own_directory: Path) -> None:
    data = bytes(range(256)) * 100
    instance.run("kv", "put", "blob", input=data)
    target = own_directory / "out"
    with target.open("wb") as file:
        environment = instance.environment()
        pid = os.posix_spawn(
            instance.argv()[0],
            instance.argv("kv", "get", "blob"),
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, file.fileno(), 1)],
        )
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert target.read_bytes() == data


def test_a_transaction_comes_from_standard_input(instance: Instance) -> None:
    instance.run("kv", "txn", input=json.dumps({"puts": {"a": "1", "b": "2"}, "if_revisions": {"a": 0}}))
    refused = instance.run("kv", "txn", input=json.dumps({"puts": {"c": "3"}, "if_revisions": {"a": 0}}), check=False)
    assert refused.returncode == 4
    assert [value["key"] for value in instance.json("kv", "ls")["values"]] == ["a", "b"]
    assert instance.run("kv", "txn", input="no json", check=False).returncode == 2


def test_a_watcher_goes_on_from_where_it_was_over_the_death_of_the_daemon(instance: Instance) -> None:
    first = instance.json("kv", "put", "k", "1")["revision"]
    with instance.follow("kv", "watch", "--after", "0", "--json") as changes:
        assert json.loads(changes.line())["revision"] == first
    instance.run("kv", "put", "k", "2")
    kill_daemon(instance)
    instance.run("daemon", "start")
    instance.run("kv", "put", "k", "3")
    with instance.follow("kv", "watch", "--after", str(first), "--json") as changes:
        assert [json.loads(changes.line())["changes"][0]["value"] for _ in range(2)] == ["2", "3"]


class Writer(threading.Thread):
    """Counts up a key of its own by compare-and-swap, as fast as it is answered, until there is nobody to answer."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__()
        self._path = path
        self._key = f"counter/{number}"
        #: What it was told last, and what it may have asked for after that.
        self.told, self.asked, self.revision = 0, 0, 0

    def run(self) -> None:
        connection = http.client.HTTPConnection("corral")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self._path)
        while True:
            self.asked = self.told + 1
            body = {"puts": {self._key: str(self.asked)}, "if_revisions": {self._key: self.revision}}
            try:
                connection.request("POST", "/v1/kv?team=shop", json.dumps(body))
                answer = connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                return
            assert answer.status == 200, content
            self.revision = json.loads(content)["revision"]
            self.told = self.asked


def test_nothing_that_was_answered_is_lost_when_the_daemon_is_killed_under_load(instance: Instance) -> None:
    writers = [Writer(os.path.join(instance.runtime, "daemon.sock"), number) for number in range(16)]
    for writer in writers:
        writer.start()
    writers[0].join(1.0)
    os.kill(instance.json("daemon", "status")["pid"], signal.SIGKILL)
    for writer in writers:
        writer.join()
    instance.run("daemon", "start")
    found = {value["key"]: value for value in instance.json("kv", "ls", "counter/")["values"]}
    greatest = 0
    for number, writer in enumerate(writers):
        assert writer.told > 0
        value = found[f"counter/{number}"]
        # What was asked for and not answered may be there, or not; what was answered is.
        assert int(value["value"]) in (writer.told, writer.asked)
        if int(value["value"]) == writer.told:
            assert value["revision"] == writer.revision
        greatest = max(greatest, writer.revision)
    assert instance.json("kv", "put", "after", "x")["revision"] > greatest
