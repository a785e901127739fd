"""What goes as it should leaves no trace of alarm in the logs of daemon and keeper."""

import os
import signal
import socket
from pathlib import Path

import pytest

from tests.faults.support.population import daemons, keepers
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

SHOP = '[team]\nname = "shop"\n[agents.a]\ncommand = ["cat"]\n'
#: As a client sends it that goes away before all of its body has been sent.
HALF = b"POST /v1/send?team=shop&agent=a HTTP/1.1\r\nHost: corral\r\nContent-Length: 100000\r\n\r\nhello"


def _log(instance: Instance, whose: str) -> str:
    return Path(instance.home, f"{whose}.log").read_text(encoding="utf-8")


def _assert_quiet(instance: Instance) -> None:
    for whose in ("daemon", "keeper"):
        text = _log(instance, whose)
        assert not [word for word in ("Traceback", "ERROR", "WARNING", "Exception") if word in text], text


def _ask(instance: Instance, request: bytes, *, read: int = 0) -> None:
    """Send bytes to the daemon, read some of its answer, and go away without a word."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(os.path.join(instance.runtime, "daemon.sock"))
        client.sendall(request)
        if read:
            client.recv(read)


def test_a_team_comes_and_goes_and_daemon_and_keeper_with_it(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    instance.run("send", "a", "hello")
    instance.run("logs", "a")
    instance.run("down")
    instance.run("daemon", "stop")
    wait_for(lambda: not keepers(instance), what="the keeper ends with the daemon")
    assert "ended" in _log(instance, "keeper")
    _assert_quiet(instance)


def test_a_keeper_that_is_asked_to_end_while_a_daemon_is_connected(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    (keeper,) = keepers(instance)
    os.kill(keeper.pid, signal.SIGTERM)
    wait_for(lambda: keeper.pid not in {one.pid for one in keepers(instance)}, what="it ends")
    instance.run("send", "a", "hello")  # through the next one
    assert "Traceback" not in _log(instance, "keeper")
    instance.run("down")


def test_clients_that_go_away_in_the_middle_of_a_request_or_of_an_answer(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    (daemon,) = daemons(instance)
    for _ in range(3):
        _ask(instance, HALF)
        _ask(instance, b"GET /v1/events?follow=1 HTTP/1.1\r\nHost: corral\r\n\r\n", read=10)
        _ask(instance, b"GET /v1/logs?team=shop&follow=1 HTTP/1.1\r\nHost: corral\r\n\r\n", read=10)
        _ask(instance, b"GET /v1/agents HTTP/1.1\r\nHost: corral\r\n\r\n")
        _ask(instance, b"")
    assert [one.pid for one in daemons(instance)] == [daemon.pid]
    assert instance.json("ps")[0]["state"] == "running"  # and it has dealt with all that came before
    assert not [event for event in instance.run("events", "--agent", "a").stdout.splitlines() if "message" in event]
    instance.run("down")
    instance.run("daemon", "stop")
    _assert_quiet(instance)
