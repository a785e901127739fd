"""`corral exec` and `corral proc` as a person uses them: streams, Ctrl-C, a terminal, lives beyond the daemon's."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support.population import kill_daemon
from tests.support.instance import Instance
from tests.support.waiting import wait_for
from tests.unit.cli.terminal import run_on_terminal

pytestmark = pytest.mark.tmux

TEAM = '[team]\nname = "shop"\n[agents.a]\ncommand = ["cat"]\n[agents.b]\ncommand = ["cat"]\n'


@pytest.fixture
def shop(instance: Instance) -> Iterator[Instance]:
    """A team of two agents, up; after the test nothing of it is left."""
    instance.spec(TEAM)
    instance.run("up")
    yield instance
    assert instance.json("down", "--grace", "1s")["clean"]


def popen(shop: Instance, *words: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        shop.argv(*words),
        cwd=shop.directory,
        env=shop.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class TestForeground:
    def test_output_comes_as_it_is_written_and_the_exit_code_is_its_own(self, shop: Instance) -> None:
        process = popen(shop, "exec", "a", "-c", "echo first; read -r x < fifo; echo $x >&2; exit 7")
        fifo = Path(shop.directory, "fifo")
        os.mkfifo(fifo)
        assert process.stdout
        assert process.stdout.readline() == b"first\n"
        fifo.write_text("second\n")
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (7, b"second\n", b"")

    def test_bytes_are_bytes(self, shop: Instance) -> None:
        data = os.urandom(3_000_000)
        Path(shop.directory, "data").write_bytes(data)
        done = subprocess.run(
            shop.argv("exec", "a", "--stdin", "--", "cat", "data", "-"),
            cwd=shop.directory,
            env=shop.environment(),
            input=data[:1_000_000],
            capture_output=True,
            check=True,
        )
        assert done.stdout == data + data[:1_000_000]

    def test_ctrl_c_goes_to_the_command(self, shop: Instance) -> None:
        process = popen(shop, "exec", "a", "-c", "trap 'echo caught; exit 9' INT; echo ready; sleep 60 & wait")
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        assert (process.returncode, out) == (9, b"caught\n")

    def test_a_follower_hears_of_an_end_that_came_before_it_asked(self, shop: Instance) -> None:
        """What it left holds its output open and says nothing: that is no reason to wait with the news."""
        started = shop.json("exec", "a", "-c", "echo said; sleep 60 & exit 3", check=False)
        follower = popen(shop, "proc", "output", "-f", "--after", "5", "--json", started["process_id"])
        assert follower.stdout
        try:
            # Until somebody writes, or asks again, it would be 25 seconds.
            ready, _, _ = select.select([follower.stdout], [], [], 15)
            assert ready
            page = json.loads(follower.stdout.readline())
            assert (page["running"], page["exit_code"]) == (False, 3)
        finally:
            follower.kill()
            follower.communicate(timeout=20)

    def test_twice_it_ends_the_command_with_everything(self, shop: Instance) -> None:
        process = popen(shop, "exec", "a", "-c", "trap '' INT; sleep 60 & echo ready; wait; sleep 60")
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)  # two at once are one
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 143
        (one,) = shop.json("proc", "ls")
        assert one["pids"] == []

    def test_a_terminal_is_the_commands(self, shop: Instance) -> None:
        argv = shop.argv("exec", "a", "--tty", "-c", "'stty size; read -r line; echo got $line; tty'")
        code, text = run_on_terminal(
            ["sh", "-c", " ".join(argv)],
            cwd=shop.directory,
            env=shop.environment(),
            columns=91,
            keys="hi\r",
            until="91",
        )
        assert code == 0
        assert "24 91" in text
        assert "got hi" in text
        assert "/dev/pts/" in text


class TestBackground:
    def test_a_server_is_waited_for_and_ended(self, shop: Instance) -> None:
        process = shop.run("exec", "a", "-b", "-c", "sleep 0.3; echo listening; sleep 60").stdout.strip()
        seen = shop.run("proc", "output", "--until", "^listening$", "--wait", "20s", process).stdout
        assert seen == "listening\n"
        assert shop.json("ps")[0]["processes"] == 1
        assert shop.run("proc", "kill", "--grace", "1s", process).stdout == f"{process}: SIGTERM\n"
        wait_for(lambda: shop.json("ps")[0]["processes"] == 0, what="the count")
        assert shop.run("proc", "wait", process, check=False).returncode == 143
        shop.run("proc", "rm", process)
        assert shop.run("proc", "output", process, check=False).returncode == 3

    def test_a_process_outlives_the_daemon(self, shop: Instance) -> None:
        process = shop.run("exec", "a", "-b", "--stdin", "-c", "echo one; read -r x; echo $x; exit 5").stdout.strip()
        page = shop.json("proc", "output", "--wait", "20s", process)
        assert page["output"] == "one\n"
        kill_daemon(shop)
        shop.run("daemon", "start")
        shop.run("proc", "write", "-n", process, "two")
        assert shop.run("proc", "wait", process, check=False).returncode == 5
        assert shop.run("proc", "output", "--after", str(page["next"]), process).stdout == "two\n"

    def test_what_is_done_is_in_the_journal_in_order(self, shop: Instance) -> None:
        process = shop.json("exec", "a", "-c", "true")["process_id"]

        def told() -> list[str]:
            events = map(json.loads, shop.run("events", "--json", "-n", "50").stdout.splitlines())
            return [event["event"] for event in events if event["data"].get("process") == process]

        wait_for(lambda: len(told()) == 2, what="both events")
        assert told() == ["process.started", "process.exited"]


class TestWhose:
    def test_in_an_agent_its_own_are_meant(self, shop: Instance) -> None:
        other = shop.run("exec", "b", "-b", "--", "sleep", "60").stdout.strip()
        listed = "corral proc ls -q; corral proc output " + other
        bin_directory = Path(shop.directory, "bin")
        bin_directory.mkdir()
        (bin_directory / "corral").write_text("#!/bin/sh\nexec " + " ".join(shop.argv()) + ' "$@"\n')
        (bin_directory / "corral").chmod(0o700)
        path = f"PATH={bin_directory}:{os.environ['PATH']}"
        done = shop.run("exec", "a", "-e", path, "-c", listed, check=False)
        assert done.returncode == 3
        first, second, _ = done.stdout.splitlines()
        assert (len(first), second) == (11, f"corral: a has no process {other}")
        assert first != other

    def test_a_paused_agent_runs_nothing(self, shop: Instance) -> None:
        shop.run("pause", "a")
        code, error = shop.error("exec", "a", "-c", "true")
        assert (code, error["code"]) == (4, "refused")
        shop.run("resume", "a")
        shop.run("exec", "a", "--", "true")
