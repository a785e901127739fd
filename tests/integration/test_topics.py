"""`corral pub` and `corral sub`, and that a subscriber who comes back misses nothing, whoever is killed meanwhile."""

import http.client
import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance


@pytest.fixture(autouse=True)
def _up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")


def test_what_is_published_is_followed_from_a_revision(instance: Instance) -> None:
    first = instance.json("pub", "build/done", "green", "at", "3f2a1c")
    assert list(first) == ["revision"]
    assert instance.run("pub", "build/done", input="two\nlines\n").stdout == f"revision {first['revision'] + 1}\n"
    with instance.follow("sub", "build/done", "--from", "0", "--json") as entries:
        one = json.loads(entries.line())
        assert (one["revision"], one["topic"], one["text"]) == (first["revision"], "build/done", "green at 3f2a1c")
        assert json.loads(entries.line())["text"] == "two\nlines\n"
        instance.run("pub", "build/done", "-", input=b"\0\xff")
        assert json.loads(entries.line())["encoding"] == "base64"
    with instance.follow("sub", "build/done", "--from", str(first["revision"])) as entries:
        assert entries.line().split() == [str(first["revision"] + 1), one["by"], "two"]


def test_what_is_wrong_is_said_with_the_right_code(instance: Instance, own_directory: Path) -> None:
    assert instance.error("pub", "a b", "x")[0] == 2
    assert instance.error("pub", "t", "")[0] == 2
    assert instance.error("sub", "*", "--from", "0")[0] == 2
    assert instance.error("pub", "-t", "nobody", "t", "x")[0] == 3
    large = own_directory / "large"
    large.write_bytes(b"x" * ((256 << 10) + 1))
    assert instance.run("pub", "t", input=large.read_bytes(), check=False).returncode == 2


def connected(path: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("corral")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    return connection


class Publisher(threading.Thread):
    """Counts on a topic, as fast as it is answered, until nobody answers."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__()
        self._path = path
        self._number = number
        #: What it was told: text → revision; and what it may have asked for after that.
        self.told: dict[str, int] = {}
        self.asked = ""

    def run(self) -> None:
        connection = connected(self._path)
        try:
            while True:
                self.asked = f"{self._number}.{len(self.told)}"
                connection.request("POST", "/v1/topics?team=shop&topic=load", self.asked)
                answer = connection.getresponse()
                content = answer.read()
                assert answer.status == 200, content
                self.told[self.asked] = json.loads(content)["revision"]
        except (OSError, http.client.HTTPException):
            connection.close()


def test_nothing_that_was_answered_is_missing_nothing_comes_twice_and_in_order(instance: Instance) -> None:
    """Several publish, the daemon is killed three times, and one who follows comes back with its last revision."""
    path = os.path.join(instance.runtime, "daemon.sock")
    seen: list[tuple[int, str]] = []
    told: dict[str, int] = {}
    maybe: set[str] = set()
    for death in range(3):
        publishers = [Publisher(path, death * 10 + number) for number in range(6)]
        after = seen[-1][0] if seen else 0
        with instance.follow("sub", "load", "--from", str(after), "--json") as entries:
            for publisher in publishers:
                publisher.start()
            # A part is read while it is published; the rest comes with the next one that follows.
            for _ in range(200):
                entry = json.loads(entries.line())
                seen.append((entry["revision"], entry["text"]))
            os.kill(instance.json("daemon", "status")["pid"], signal.SIGKILL)
            for publisher in publishers:
                publisher.join()
                told |= publisher.told
                maybe.add(publisher.asked)
        instance.run("daemon", "start")
    last = instance.json("pub", "load", "the end")["revision"]
    with instance.follow("sub", "load", "--from", str(seen[-1][0]), "--json") as entries:
        while seen[-1][0] != last:
            entry = json.loads(entries.line())
            seen.append((entry["revision"], entry["text"]))
    revisions = [revision for revision, _ in seen]
    assert revisions == sorted(set(revisions)), "in order, and none twice"
    found = {text: revision for revision, text in seen}
    assert len(found) == len(seen), "nothing was taken down twice"
    assert len(told) > 100
    assert {text: found.get(text) for text in told} == told, "what was answered is there, under its revision"
    assert set(found) - set(told) <= maybe | {"the end"}, "and nothing that nobody asked for"
