"""A daemon or a keeper that hangs: the doctor says which, with its pid and what helps, and soon."""

import contextlib
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corral.adapters.doctor import life
from corral.domain.diagnosis_facts import Life
from corral.places import Places
from tests.faults.support.ghosts import doctor, down, found
from tests.faults.support.population import daemons, keepers, send_signal
from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance
from tests.support.processes import Process

#: A sign of life is waited for this long, and the rest of a round takes a moment.
_SOON_SECONDS = 2.0 + 4.0


@contextlib.contextmanager
def stopped(*several: Process) -> Iterator[None]:
    """These do not run in this block."""
    for one in several:
        send_signal(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in several:
            send_signal(one, signal.SIGCONT)


def soon(instance: Instance) -> dict[str, Any]:
    """What the doctor says, and that it did not take long."""
    began = time.monotonic()
    document = doctor(instance)
    assert time.monotonic() - began < _SOON_SECONDS
    return document


@pytest.fixture
def hosts(instance: Instance) -> Iterator[dict[str, Process]]:
    """The daemon and the keeper of a team that is up."""
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    (daemon,), (keeper,) = daemons(instance), keepers(instance)
    yield {"daemon": daemon, "keeper": keeper}
    down(instance)


@pytest.mark.parametrize("which", ["daemon", "keeper"])
def test_one_that_is_stopped_is_named_with_its_pid_and_what_helps(
    instance: Instance, hosts: dict[str, Process], which: str
) -> None:
    pid = hosts[which].pid
    with stopped(hosts[which]):
        document = soon(instance)
    assert not document["healthy"]
    (finding,) = found(document, which)
    assert (finding["severity"], finding["ours"], finding["pid"], finding["stopped"]) == ("problem", True, pid, True)
    assert f"pid {pid}" in finding["message"]
    assert f"kill -CONT {pid}" in finding["remedy"]
    assert f"kill -9 {pid}" in finding["remedy"]
    other = {"daemon": "keeper", "keeper": "daemon"}[which]
    assert found(document, other) == []
    assert not (found(soon(instance), which)), "it goes on"


def test_both_are_named_at_once_and_what_rests_on_the_daemon_is_not_guessed(
    instance: Instance, hosts: dict[str, Process]
) -> None:
    with stopped(*hosts.values()):
        document = soon(instance)
    assert {finding["check"] for finding in document["findings"] if finding["severity"] == "problem"} == set(hosts)
    not_done = {check["check"]: check["why"] for check in document["checked"] if not check["done"]}
    assert f"pid {hosts['daemon'].pid}" in not_done["orphans"]


def test_those_that_live_are_fine_and_those_that_are_not_there_are_not_asked_for(
    instance: Instance, hosts: dict[str, Process]
) -> None:
    document = soon(instance)
    assert found(document, "daemon") == found(document, "keeper") == []
    lives = life.look(Places(instance.home, instance.runtime))
    assert lives == tuple(Life(of=name, pid=one.pid, answers=True) for name, one in hosts.items())


class TestSomebodyWhoListensAndSaysNothing:
    @pytest.fixture
    def places(self, own_directory: Path) -> Places:
        found = Places(str(own_directory / "h"), str(own_directory / "r"))
        found.create()
        return found

    def test_is_waited_for_two_seconds_and_no_longer(self, places: Places) -> None:
        with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
            for mute, path in ((one, places.daemon_socket), (two, places.keeper_socket)):
                mute.bind(path)
                mute.listen()
            began = time.monotonic()
            lives = life.look(places)
            assert life.SECONDS <= time.monotonic() - began < life.SECONDS + 1
        assert [(one.of, one.stopped, one.answers) for one in lives] == [
            ("daemon", False, False),
            ("keeper", False, False),
        ]

    def test_a_lock_that_names_somebody_who_does_not_have_it_shows_nothing(self, places: Places) -> None:
        Path(places.daemon_lock).write_text("1\n")
        Path(places.keeper_lock).write_text("nonsense\n")
        assert life.look(places) == ()
