"""`corral daemon`: status never starts, stop waits for the end, start is said once."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.cli import daemon as command
from corral.cli.command import Invocation
from corral.client import start
from corral.domain import host_names
from corral.places import Places
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, Request, document

#: Ends when it reads a line, as the daemon ends when it is asked to.
WAITS = "import sys; sys.stdin.readline()"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """The process that says it is the daemon."""
    with subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE) as waiting:
        yield waiting
        waiting.kill()


def health(process: "subprocess.Popen[bytes] | None" = None) -> bytes:
    return document({"version": "0.1.0", "pid": process.pid if process else 42, "teams": 1, "started_at": "now"})


class TestStatus:
    def test_of_one_that_runs(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/health", health())
        outcome = corral("daemon", "status")
        assert (outcome.code, outcome.out.splitlines()[:2]) == (0, ["version:     0.1.0", "pid:         42"])
        assert corral("daemon", "status", "--json").json["running"] is True

    def test_of_none(self, corral: Corral, places: Places) -> None:
        outcome = corral("daemon", "status")
        assert (outcome.code, outcome.err.splitlines()[0]) == (3, "corral: the daemon is not running")
        outcome = corral("daemon", "status", "--json")
        assert (outcome.code, outcome.json, outcome.error["code"]) == (3, {"running": False}, "not_found")
        assert not os.path.exists(places.runtime)

    @pytest.mark.usefixtures("somebody_was_here")
    def test_of_none_with_agents_that_may_run(self, corral: Corral) -> None:
        outcome = corral("daemon", "status")
        assert (outcome.code, "its agents may be" in outcome.err) == (3, True)


class TestStop:
    def test_returns_when_the_process_is_gone(
        self, corral: Corral, daemon: FakeDaemon, process: "subprocess.Popen[bytes]"
    ) -> None:
        def stop(_: Request) -> Iterator[bytes]:
            yield document({"stopped": True, "pid": process.pid})
            assert process.stdin
            process.stdin.write(b"\n")
            process.stdin.flush()

        daemon.answer("GET", "/v1/health", health(process))
        daemon.answer("POST", "/v1/daemon/stop", stop)
        assert corral("daemon", "stop", "--json").json == {"stopped": True}
        assert process.poll() == 0

    def test_an_end_without_an_answer_is_an_end(
        self, corral: Corral, daemon: FakeDaemon, process: "subprocess.Popen[bytes]"
    ) -> None:
        def die(_: Request) -> bytes:
            process.send_signal(signal.SIGKILL)
            return b""

        daemon.answer("GET", "/v1/health", health(process))
        daemon.answer("POST", "/v1/daemon/stop", die)
        assert corral("daemon", "stop").out == "the daemon has stopped\n"

    def test_one_that_does_not_end_is_exit_6(
        self,
        corral: Corral,
        daemon: FakeDaemon,
        process: "subprocess.Popen[bytes]",
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(command, "STOP_SECONDS", 0.1)
        daemon.answer("GET", "/v1/health", health(process))
        daemon.answer("POST", "/v1/daemon/stop", document({"stopped": True, "pid": process.pid}))
        outcome = corral("daemon", "stop")
        assert outcome.code == 6
        assert f"(pid {process.pid}) was asked to stop and still runs after 0.1 s" in outcome.err

    def test_of_none_is_no_error(self, corral: Corral) -> None:
        assert (corral("daemon", "stop").code, corral("daemon", "stop").out) == (0, "the daemon is not running\n")
        assert corral("daemon", "stop", "--json").json == {"stopped": False}


def test_start_of_one_that_runs(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/health", health())
    assert corral("daemon", "start").out == "the daemon was running already, pid 42\n"
    outcome = corral("daemon", "start", "--json").json
    assert (outcome["started"], outcome["pid"]) == (False, 42)


@pytest.mark.parametrize("ends", [True, False])
def test_one_that_ends_while_it_is_asked_is_followed_by_another(
    corral: Corral, daemon: FakeDaemon, places: Places, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    """One that is still there and does not answer is not."""
    aside = f"{places.daemon_socket}.aside"
    looks: list[bool] = []

    def dies(_: Request) -> bytes:
        if ends:
            os.rename(places.daemon_socket, aside)
        return b""

    def ensured(_: Places) -> bool:
        looks.append(True)
        if len(looks) == 2:
            os.rename(aside, places.daemon_socket)
            daemon.answer("GET", "/v1/health", health())
        return len(looks) == 2

    daemon.answer("GET", "/v1/health", dies)
    monkeypatch.setattr(start, "ensure_daemon", ensured)
    outcome = corral("daemon", "start")
    assert (outcome.code, len(looks)) == ((0, 2) if ends else (6, 1))
    if ends:
        assert outcome.out == "the daemon runs, pid 42\n"


def test_one_that_is_gone_before_it_is_asked_and_left_nothing_up_is_started_again(
    corral: Corral, daemon: FakeDaemon, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside, looks = f"{places.daemon_socket}.aside", list[bool]()
    places.create()
    for path in (places.at_rest_mark, places.database):
        Path(path).touch()

    def ensured(_: Places) -> bool:
        looks.append(True)
        if len(looks) == 1:
            os.rename(places.daemon_socket, aside)  # somebody listened there, and has ended
        else:
            os.rename(aside, places.daemon_socket)
            daemon.answer("GET", "/v1/health", health())
        return len(looks) == 2

    monkeypatch.setattr(start, "ensure_daemon", ensured)
    outcome = corral("daemon", "start")
    assert (outcome.code, outcome.out, len(looks)) == (0, "the daemon runs, pid 42\n", 2)


def test_who_stops_the_daemon_of_a_shared_server_is_told_how_it_starts_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_stop_and_wait", lambda _: True)
    for runtime, told in ((host_names.RUNTIME, True), ("/run/other", False)):
        invocation = Invocation(command.STOP)
        invocation._places = Places("/nowhere", runtime)
        assert command.stop(invocation) == 0
        assert ("sudo systemctl start corral.service" in capsys.readouterr().err) == told
