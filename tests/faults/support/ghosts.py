"""tmux servers that are hidden on purpose, and what the doctor says of them."""

import contextlib
import json
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support import processes
from tests.support.instance import Instance


def doctor(instance: Instance, *arguments: str) -> dict[str, Any]:
    """The document of `corral doctor --json`; its exit code must agree with it."""
    done = instance.run("doctor", *arguments, "--json", check=False)
    document: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if document["healthy"] else 5), done.stderr
    return document


def down(instance: Instance) -> None:
    """Take the team down, and leave nothing."""
    receipt = instance.json("down", "--team", "shop")
    assert receipt["clean"], receipt


def found(document: dict[str, Any], check: str, **wanted: object) -> list[dict[str, Any]]:
    """The findings of one check, those with these values."""
    return [
        finding
        for finding in document["findings"]
        if finding["check"] == check and all(finding.get(key) == value for key, value in wanted.items())
    ]


def fixes(instance: Instance) -> list[dict[str, Any]]:
    """What the journal has of the doctor's work."""
    lines = instance.run("events", "-n", "all", "--json").stdout.splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [event for event in events if event["event"] == "doctor.fixed"]


def peer(path: str | os.PathLike[str]) -> int:
    """The pid of whoever listens at `path`, as the kernel tells it."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.connect(os.fspath(path))
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)


def ask(path: str | os.PathLike[str], *command: str) -> str:
    """What tmux answers at this socket; -N, so that nothing is started."""
    argv = ["tmux", "-N", "-S", os.fspath(path), *command]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.removesuffix("\n")


class Another:
    """A tmux server at a path of the test's choice. tmux itself removes a socket there that nobody listens at."""

    def __init__(self, path: str | os.PathLike[str], env: dict[str, str] | None = None) -> None:
        self.path = os.fspath(path)
        argv = ["tmux", "-S", self.path, "-f", os.devnull, "new-session", "-d", "-s", "other", "exec cat"]
        subprocess.run(argv, check=True, timeout=20, env={**os.environ, **(env or {})})
        self.pid = peer(self.path)
        self.panes = ask(self.path, "list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{session_name}")

    def close(self) -> None:
        server = processes.process(self.pid)
        if server:
            processes.kill(server)


@contextlib.contextmanager
def another(path: str | os.PathLike[str], env: dict[str, str] | None = None) -> Iterator[Another]:
    """`Another` for the length of a block."""
    server = Another(path, env)
    try:
        yield server
    finally:
        server.close()


def aside(instance: Instance, pid: int) -> Path:
    """The name under which a server stays reachable that had the path of another."""
    return Path(instance.runtime, "tmux", f"aside.{pid}")
