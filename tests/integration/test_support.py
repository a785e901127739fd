"""The helpers that the other tests trust."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import processes, sockets
from tests.support.leaks import LeakCheck
from tests.support.person import OwnTmux, Person
from tests.support.repos import git

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
