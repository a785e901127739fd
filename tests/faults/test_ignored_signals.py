"""Whoever says `up` first may ignore signals, as scripts in the background and some services do. Agents do not."""

import signal
import subprocess
import sys

import pytest

from tests.faults.support.teams import down, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

_IGNORED = "CHLD QUIT USR1 TERM"
_ASK = ["sh", "-c", "grep SigIgn: /proc/self/status; exec sleep 86400"]


def _run(instance: Instance, *arguments: str) -> "subprocess.CompletedProcess[str]":
    # Not by a shell: some keep SIGCHLD to themselves.
    script = (
        "import os, signal, sys\n"
        f"for name in {_IGNORED.split()}: signal.signal(signal.Signals['SIG' + name], signal.SIG_IGN)\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    argv = [sys.executable, "-c", script, *instance.argv(*arguments)]
    env, cwd = instance.environment(), instance.directory
    return subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("terminal", ["tmux", "none"])
def test_what_whoever_started_the_daemon_ignores_no_agent_does(instance: Instance, terminal: str) -> None:
    instance.spec(toml({"a": {"command": _ASK, "terminal": terminal}}))
    assert _run(instance, "up").returncode == 0
    wait_for(lambda: "SigIgn:" in instance.run("logs", "a").stdout, what="it said what it ignores")
    assert _ignored(instance.run("logs", "a").stdout) == []
    assert _ignored(instance.run("exec", "a", "--", "grep", "SigIgn:", "/proc/self/status").stdout) == []
    down(instance)


def _ignored(said: str) -> list[str]:
    """Of those signals, for tmux has its own mind about others."""
    mask = int(said.split()[-1], 16)
    return [name for name in _IGNORED.split() if mask >> (signal.Signals[f"SIG{name}"] - 1) & 1]


def test_a_tmux_that_does_not_come_up_is_told_all_the_same(instance: Instance) -> None:
    tmux = f"{instance.directory}/tmux"
    with open(tmux, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n[ "$1" = -V ] && exec tmux -V\necho it is broken >&2\nexit 3\n')
    subprocess.run(["chmod", "755", tmux], check=True)
    instance.env["CORRAL_TMUX"] = tmux
    instance.spec(toml({"a": {"command": ["cat"]}}))
    done = _run(instance, "up")
    assert (done.returncode, "it is broken" in done.stderr) == (6, True), done.stderr
