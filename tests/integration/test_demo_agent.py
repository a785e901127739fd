"""The demo agent in a real terminal: what it takes, what it does, how it ends."""

import hashlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import child_of
from tests.support.repos import git
from tests.support.tmux import Tmux

pytestmark = pytest.mark.tmux

AGENT = [sys.executable, "-m", "corral", "demo-agent"]


def receipt(number: int, message: str) -> str:
    raw = message.encode()
    return f"message {number}: {len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()[:12]}"


def test_it_is_ready_works_commits_and_is_ready_again(own_directory: Path, repo: Callable[..., Path]) -> None:
    work = repo()
    message = "Do this;\nwrite notes/a.txt: été\nappend notes/a.txt: 日本\ncommit: Add notes\nsay: that was it;"
    with Tmux(own_directory, AGENT, work) as tmux:
        assert tmux.shows("demo>") == ["demo>"]
        tmux.paste(message.encode())
        tmux.shows(f"demo> [5 lines, {len(message.encode())} bytes]")
        tmux("send-keys", "Enter")
        lines = tmux.shows("done.")
        assert receipt(1, message) in lines
        assert "thinking about: Do this;" in lines
        assert "that was it;" in lines
        tmux.shows("demo>")
    assert (work / "notes" / "a.txt").read_text() == "été\n日本\n"
    assert git(work, "log", "-1", "--format=%an: %s") == "A Person: Add notes"
    assert git(work, "status", "--porcelain") == ""


def test_a_mebibyte_arrives_whole_with_its_newlines(own_directory: Path) -> None:
    letters = random.Random(1).choices("abc é日🐎\n", k=600_000)
    message = "".join(letters).encode()[: (1 << 20) - 1].decode("utf-8", "ignore")
    message += "." * ((1 << 20) - len(message.encode()))
    with Tmux(own_directory, AGENT, own_directory) as tmux:
        tmux.shows("demo>")
        tmux.paste(message.encode())
        tmux.shows(f"{1 << 20} bytes]")
        tmux("send-keys", "Enter")
        tmux.shows("done.")
        assert receipt(1, message) in tmux.screen()
        tmux.paste(b"x" * ((1 << 20) + 1))
        tmux.shows("a paste of 1048577 bytes is more than 1048576: not taken")
        tmux("send-keys", "say: still here", "Enter")
        tmux.shows("message 2:")


def test_messages_that_come_while_it_works_wait_and_escape_interrupts(own_directory: Path) -> None:
    with Tmux(own_directory, AGENT, own_directory) as tmux:
        tmux.shows("demo>")
        tmux("send-keys", "wait: 300", "Enter")
        tmux.shows("working on step 1 of 1 … esc to interrupt")
        tmux("send-keys", "say: later", "Enter")
        tmux("send-keys", "Escape")
        lines = tmux.shows("done.")
        assert lines.index("interrupted.") < lines.index("you: say: later") < lines.index("later")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["SIGTERM", "SIGHUP"])
def test_a_signal_ends_it_at_once_and_the_terminal_is_as_before(
    own_directory: Path, number: signal.Signals, code: int
) -> None:
    before, after = own_directory / "before", own_directory / "after"
    script = f'stty -g >{before}; "$@"; code=$?; stty -g >{after}; exit $code'
    with Tmux(own_directory, ["sh", "-c", script, "sh", *AGENT], own_directory) as tmux:
        tmux.shows("demo>")
        tmux("send-keys", "wait: 300", "Enter")
        tmux.shows("working")
        os.kill(child_of(tmux.program()), number)
        assert tmux.exit_code() == code
    assert after.read_text() == before.read_text()


@pytest.mark.parametrize(("keys", "code"), [(["exit: 3", "Enter"], 3), (["C-d"], 0), (["C-c"], 130)])
def test_it_ends_with_the_code_it_was_told(own_directory: Path, keys: list[str], code: int) -> None:
    with Tmux(own_directory, AGENT, own_directory) as tmux:
        tmux.shows("demo>")
        tmux("send-keys", *keys)
        assert tmux.exit_code() == code


def test_a_step_that_cannot_be_done_leaves_the_rest(own_directory: Path) -> None:
    with Tmux(own_directory, AGENT, own_directory) as tmux:
        tmux.shows("demo>")
        tmux.paste(b"write ../outside: x\nsay: not reached")
        tmux("send-keys", "Enter")
        lines = tmux.shows("gave up:")
        assert f"gave up: ../outside is not below {own_directory}" in lines
        assert "not reached" not in lines
        tmux("send-keys", "commit: nowhere", "Enter")
        tmux.shows("gave up: git add: fatal: not a git repository")


def test_without_a_terminal_it_reads_lines(own_directory: Path, repo: Callable[..., Path]) -> None:
    work = repo("empty")
    done = subprocess.run(
        AGENT,
        cwd=work,
        input=b"write a: 1\r\ncommit: One\nsay: no line end",
        capture_output=True,
        timeout=30,
        check=False,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "CORRAL_AGENT": "api"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    assert done.stdout.decode().count("done.\n") == 3
    assert git(work, "log", "-1", "--format=%an <%ae> %s") == "api (demo agent) <api@demo.invalid> One"


def test_its_first_message_may_be_an_argument() -> None:
    done = subprocess.run([*AGENT, "exit: 7"], capture_output=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 7
