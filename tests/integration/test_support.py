"""The helpers that the other tests trust."""

import glob
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import abandoned, processes, sockets
from tests.support.leaks import LeakCheck
from tests.support.person import OwnTmux, Person
from tests.support.repos import git
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux


def test_a_forgotten_tmux_server_is_found_though_its_environment_was_swept(own_directory: Path) -> None:
    check = LeakCheck(str(own_directory))
    socket = own_directory / "forgotten.sock"
    subprocess.run(
        ["tmux", "-S", str(socket), "-f", os.devnull, "new-session", "-d", "sleep", "304"],
        env={"PATH": os.environ["PATH"]},
        cwd="/",
        check=True,
    )
    pid = int(
        subprocess.run(
            ["tmux", "-S", str(socket), "display-message", "-p", "#{pid}"], capture_output=True, check=True
        ).stdout
    )
    assert str(socket) in sockets.listening(pid)
    leaks = check.leaks(0)
    assert any(leak.startswith(f"pid {pid} (tmux: server): ") for leak in leaks), leaks
    server = processes.process(pid)
    panes = [one for one in processes.snapshot().values() if one.parent == pid]
    check.end_processes()
    processes.wait_gone([one for one in [server, *panes] if one], 5)
    assert check.leaks() == []


def test_a_touch_of_the_persons_own_tmux_is_seen() -> None:
    someone = Person()
    server = OwnTmux(someone)
    try:
        assert server.changes() == []
        env = someone.environment(dict(os.environ))
        subprocess.run(["tmux", "send-keys", "-t", "=mine:", "oops"], env=env, check=True)
        subprocess.run(["tmux", "set-option", "-g", "status-left", "theirs"], env=env, check=True)
        assert [change.partition(":")[0] for change in server.changes()] == ["first screen", "session options"]
    finally:
        server.close()
        someone.close()


@pytest.mark.parametrize("kind", ["normal", "empty", "dirty", "bare"])
def test_repositories_of_every_kind(repo: Callable[..., Path], kind: str) -> None:
    path = repo(kind)
    assert git(path, "rev-parse", "--is-bare-repository") == ("true" if kind == "bare" else "false")
    commits = git(path, "rev-list", "--all", "--count")
    assert commits == ("0" if kind == "empty" else "1")
    if kind == "dirty":
        assert sorted(git(path, "status", "--porcelain").splitlines()) == [
            " M README.md",
            "?? untracked.txt",
            "A  staged.txt",
        ]


CUT_OFF = """
import os, subprocess, time

def test_that_takes_too_long(own_directory):
    socket = str(own_directory / "left.sock")
    command = ["tmux", "-S", socket, "-f", os.devnull, "new-session", "-d", "-P", "-F", "#{pid}", "sleep", "305"]
    # Its environment says nothing of where it comes from.
    done = subprocess.run(command, env={"PATH": os.environ["PATH"]}, cwd="/", capture_output=True, check=True)
    with open(os.environ["PIDS"] + ".new", "wb") as file:
        file.write(done.stdout)
    os.rename(os.environ["PIDS"] + ".new", os.environ["PIDS"])
    time.sleep(300)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_test_has_started_that_a_time_limit_cuts_off_is_ended(own_directory: Path, number: int) -> None:
    """By itself if it is asked to end; by the next run if it was killed."""
    root = Path(__file__).parents[2]
    test, pids = root / f"tests/integration/test_cut_off_{os.getpid()}.py", own_directory / "pids"
    test.write_text(CUT_OFF)
    home = ""
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
            cwd=root,
            env={**os.environ, "PIDS": str(pids)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as run:
            wait_for(pids.exists, what="the test has begun")
            server = processes.process(int(pids.read_text()))
            assert server is not None
            home = _home_of(run.pid)
            assert abandoned.end_abandoned([home]) == [], "the run goes on, so this is its own"
            run.send_signal(number)
            run.wait(30)
        if number == signal.SIGKILL:
            assert processes.is_alive(server.pid)
            ended = abandoned.end_abandoned([home])
            assert any(f"pid {server.pid} (tmux: server)" in line for line in ended), ended
            assert not os.path.exists(home)
        processes.wait_gone([server], 5)
        assert not processes.is_alive(server.pid)
    finally:
        test.unlink()


def _home_of(run: int) -> str:
    """The home of the person of another run."""
    (found,) = [
        os.path.dirname(note)
        for note in glob.glob("/tmp/ch-*/.test-run")
        if Path(note).read_text().split(maxsplit=1)[0] == str(run)
    ]
    return found
