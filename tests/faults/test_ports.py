"""Ports that agents listen on: gone with the team, or named in the receipt with whoever has them now."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.teams import down, failure, toml
from tests.support.instance import Instance
from tests.support.listeners import Hand, a_hand


@pytest.fixture
def hand(own_directory: Path) -> Iterator[Hand]:
    with a_hand(own_directory / "hand") as one:
        yield one


def ports(receipt: dict[str, Any]) -> list[dict[str, Any]]:
    """What the receipt says of ports."""
    (residue,) = [check["residue"] for check in receipt["checks"] if check["what"] == "ports"]
    return sorted(residue, key=lambda one: str(one["name"]))


def test_ports_that_go_with_the_team_are_nothing_left(instance: Instance, hand: Hand) -> None:
    instance.spec(toml({"a": {"command": hand.command}}))
    instance.run("up")
    hand.take()
    hand.let_go()
    assert ports(down(instance)) == []


def test_a_port_that_was_handed_to_somebody_else_is_left_until_they_let_go(instance: Instance, hand: Hand) -> None:
    instance.spec(toml({"a": {"command": hand.command}}))
    instance.run("up")
    names = hand.take()

    done = instance.run("down", "--json", check=False)
    assert done.returncode == 5
    assert "2 ports" in failure(done)["message"]
    left = ports(json.loads(done.stdout))
    assert [(one["kind"], one["name"], one["pid"]) for one in left] == [("port", name, os.getpid()) for name in names]
    assert {one["why"] for one in left} == {"was opened by this team, and somebody still listens"}

    again = instance.run("down", check=False)
    assert again.returncode == 5
    for name in names:
        assert f"      {name}  pid {os.getpid()}  " in again.stdout

    hand.let_go()
    assert ports(down(instance)) == []


def test_a_port_that_somebody_else_shared_all_along_is_theirs(instance: Instance) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as person:
        port = person.getsockname()[1]
        program = (
            "import socket, time\n"
            f"shared = socket.create_server(('127.0.0.1', {port}), reuse_port=True)\n"
            "print('listens', flush=True)\n"
            "time.sleep(86400)\n"
        )
        instance.spec(toml({"a": {"command": [sys.executable, "-c", program]}}))
        instance.run("up")
        with instance.follow("logs", "-f", "a", "--json") as stream:
            stream.until(lambda line: "listens" in line["text"], 20)
        assert ports(down(instance)) == []
