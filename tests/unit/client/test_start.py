"""Starting the daemon: one process that outlives the command, its environment, and what is said if it dies.

The process is real; a small script stands where the interpreter would run the daemon, and does what it is told to.
"""

import json
import os
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corral.client import start
from corral.client.start import ensure_daemon
from corral.domain.errors import CorralError, UnavailableError
from corral.places import Places

_LISTEN = """
listener = socket.socket(socket.AF_UNIX)
listener.bind(os.environ["CORRAL_RUNTIME_DIR"] + "/daemon.sock")
listener.listen()
"""
_TELL = """
with open(directory + f"/started-{os.getpid()}", "w") as file:
    json.dump({"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "session": os.getsid(0)}, file)
"""
_READY = "os.write(int(sys.argv[-1]), b'.'); os.close(int(sys.argv[-1]))\n"
_STAY = "signal.pause()\n"

Plays = Callable[[str], None]


@pytest.fixture
def daemon_plays(own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plays]:
    """Decides what the daemon's process does; ends the processes that were started, by their pid."""
    script = own_directory / "python"

    def plays(body: str) -> None:
        head = f"#!{sys.executable}\nimport json, os, signal, socket, sys\ndirectory = {str(own_directory)!r}\n"
        script.write_text(head + textwrap.dedent(_TELL + body))
        script.chmod(0o700)
        monkeypatch.setattr("corral.client.start.sys.executable", str(script))

    yield plays
    for told in own_directory.glob("started-*"):
        pid = int(told.name.partition("-")[2])
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            continue  # it has ended and was waited for


def started(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in directory.glob("started-*")]


def test_starts_it_once_and_finds_it_again(places: Places, own_directory: Path, daemon_plays: Plays) -> None:
    daemon_plays(_LISTEN + _READY + _STAY)
    assert ensure_daemon(places) is True
    assert ensure_daemon(places) is False
    assert len(started(own_directory)) == 1


def test_many_at_once_start_one(places: Places, own_directory: Path, daemon_plays: Plays) -> None:
    daemon_plays(_LISTEN + _READY + _STAY)
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(ensure_daemon(places))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, False, False, False, True]
    assert len(started(own_directory)) == 1


def test_it_stands_on_its_own(
    places: Places, own_directory: Path, daemon_plays: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CORRAL_AGENT", "CORRAL_TEAM", "CORRAL_RUN", "CORRAL_INSTANCE", "TMUX", "TMUX_PANE"):
        monkeypatch.setenv(name, "of the caller")
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.delenv("CORRAL_RUNTIME_DIR")
    monkeypatch.chdir(own_directory)
    monkeypatch.setenv("PYTHONPATH", "src")
    daemon_plays(_LISTEN + _READY + _STAY)
    ensure_daemon(places)
    (told,) = started(own_directory)
    assert told["argv"][:5] == ["-m", "corral", "daemon", "run", "--ready-fd"]
    assert told["cwd"] == "/"
    assert told["session"] not in (os.getsid(0), 0)
    environment = told["env"]
    assert (environment["CORRAL_HOME"], environment["CORRAL_RUNTIME_DIR"]) == (places.home, places.runtime)
    assert environment["EDITOR"] == "ed"
    assert environment["PYTHONPATH"] == str(own_directory / "src")
    assert "of the caller" not in environment.values()


def test_its_log_and_its_directories_are_private(places: Places, daemon_plays: Plays) -> None:
    daemon_plays(_LISTEN + "print('hello', flush=True)\n" + _READY + _STAY)
    ensure_daemon(places)
    assert Path(places.daemon_log).read_text() == "hello\n"
    for path, mode in ((places.daemon_log, 0o600), (places.home, 0o700), (places.runtime, 0o700)):
        assert os.stat(path).st_mode & 0o777 == mode


def test_if_it_dies_its_last_words_are_shown(places: Places, daemon_plays: Plays) -> None:
    places.create()
    Path(places.daemon_log).write_text("of an earlier day\n")
    daemon_plays("print('the disk is full'); sys.exit(3)\n")
    with pytest.raises(UnavailableError) as caught:
        ensure_daemon(places)
    assert "exit code 3" in caught.value.message
    assert "the disk is full" in caught.value.message
    assert "earlier day" not in caught.value.message
    assert places.daemon_log in caught.value.remedy
    assert caught.value.details["last_words"] == ["the disk is full"]


def test_if_it_is_killed_that_is_said(places: Places, daemon_plays: Plays) -> None:
    daemon_plays("os.kill(os.getpid(), signal.SIGKILL)\n")
    with pytest.raises(UnavailableError, match="killed by signal 9"):
        ensure_daemon(places)


def test_it_is_not_waited_for_for_ever(places: Places, daemon_plays: Plays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "READY_SECONDS", 0.3)
    daemon_plays(_STAY)
    with pytest.raises(UnavailableError, match=r"is not ready after 0\.3 s"):
        ensure_daemon(places)


def test_a_log_that_cannot_be_opened(places: Places, daemon_plays: Plays) -> None:
    places.create()
    os.mkdir(places.daemon_log)
    with pytest.raises(CorralError, match=r"cannot write .*daemon\.log: Is a directory"):
        ensure_daemon(places)
