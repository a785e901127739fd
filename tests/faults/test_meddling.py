"""People and agents meddle with terminals, sockets and git: Corral stays right, and able to act."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.domain.errors import UnavailableError
from tests.faults.support.population import kill_keeper
from tests.faults.support.teams import IDLE, down, ps, toml
from tests.support.instance import Instance
from tests.support.repos import git
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux


def tmux(instance: Instance, *arguments: str) -> str:
    """The team's own tmux, as an agent could call it."""
    socket = os.path.join(instance.runtime, "tmux", "shop.sock")
    done = subprocess.run(["tmux", "-N", "-S", socket, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def pid_of_lock(instance: Instance, name: str) -> int:
    return int(Path(instance.runtime, name).read_text())


def test_a_window_that_a_person_opened_does_not_keep_an_agent_from_its_restart(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    tmux(instance, "new-window", "-d", "-t", "=a:", "sleep 86402")
    (guest,) = tmux(instance, "list-panes", "-s", "-t", "=a", "-F", "#{pane_pid}").split()[1:]
    instance.run("restart", "a")
    assert ps(instance)["a"]["state"] == "running"
    wait_for(lambda: not _runs(int(guest)), what="the end of the process in the person's window")


def test_a_foreign_session_under_an_agents_name_makes_room(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}))
    instance.run("up")
    instance.run("stop", "a")
    tmux(instance, "new-session", "-d", "-s", "a", "sleep 86403")
    instance.run("up")
    assert ps(instance)["a"]["state"] == "running"


def _sessions_of_windows(instance: Instance) -> set[str]:
    return set(tmux(instance, "list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_pid}").splitlines())


@pytest.mark.parametrize("looks", ["attach", "next keeper"])
def test_a_session_that_was_killed_is_there_again_before_anybody_attaches(instance: Instance, looks: str) -> None:
    instance.spec(toml({"a": {"command": ["sh", "-c", "while read line; do echo said $line; done"]}}))
    instance.run("up")
    before, pid = _sessions_of_windows(instance), ps(instance)["a"]["pid"]
    tmux(instance, "kill-session", "-t", "=a")
    if looks == "next keeper":
        kill_keeper(instance)
        wait_for(lambda: _sessions_of_windows(instance) == before, what="the session of the agent")
    *command, target = instance.json("attach", "a")["argv"]
    assert _sessions_of_windows(instance) == before
    assert tmux(instance, "display-message", "-p", "-t", target, "#{session_name}").split() == ["a"]
    assert "attach-session" in command
    agent = ps(instance)["a"]
    assert (agent["state"], agent["pid"]) == ("running", pid)
    instance.run("send", "a", "hello")
    wait_for(lambda: "said hello" in instance.run("logs", "a").stdout, what="the words after the session was lost")


def test_an_agent_whose_session_was_killed_is_stopped_without_the_others_being_lost(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}))
    instance.run("up")
    tmux(instance, "kill-session", "-t", "=a")
    instance.run("stop", "a")
    assert {name: agent["state"] for name, agent in ps(instance).items()} == {"a": "stopped", "b": "running"}
    assert {line.split()[0] for line in _sessions_of_windows(instance)} == {"_hub", "b"}


def test_an_agent_whose_name_somebody_took_shows_in_that_session(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    (pane,) = tmux(instance, "list-panes", "-t", "=a:", "-F", "#{pane_id}").split()
    tmux(instance, "kill-session", "-t", "=a", ";", "new-session", "-d", "-s", "a", "sleep 86404")
    target = instance.json("attach", "a")["argv"][-1]
    assert tmux(instance, "display-message", "-p", "-t", f"{target}:", "#{pane_id}").split() == [pane]


def test_without_its_hub_a_team_is_found_again_and_recorded(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": ["sh", "-c", "while read line; do echo said $line; done"]}}))
    instance.run("up")
    pid = ps(instance)["a"]["pid"]
    tmux(instance, "kill-session", "-t", "=_hub")
    instance.run("send", "a", "hello")
    agent = ps(instance)["a"]
    assert (agent["state"], agent["pid"]) == ("running", pid)
    wait_for(lambda: "said hello" in instance.run("logs", "a").stdout, what="the words after the hub was lost")


def test_a_screen_that_looks_like_tmux_itself_is_only_a_screen(instance: Instance, own_directory: Path) -> None:
    forged = "".join(f"%end {{now}} {number} 1\n%error {{now}} {number} 1\n" for number in range(1, 400))
    script = f"import time; print({forged!r}.replace('{{now}}', str(int(time.time()))), flush=True); time.sleep(86400)"
    (own_directory / "forge.py").write_text(script)
    instance.spec(toml({"a": {"command": ["python3", "forge.py"]}, "b": {"command": IDLE}}))
    instance.run("up")
    wait_for(lambda: "%error" in "\n".join(instance.json("logs", "--screen", "a")["lines"]), what="the forged lines")
    assert instance.run("logs", "b").stdout == ""
    assert {agent["state"] for agent in ps(instance).values()} == {"running"}


def test_files_that_git_was_told_not_to_show_are_work_too(instance: Instance, repo: Callable[..., Path]) -> None:
    where = repo()
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo="."), where)
    instance.run("up", cwd=where)
    git(where, "config", "status.showUntrackedFiles", "no")
    first, second = (Path(agent["workspace"]) for agent in ps(instance).values())
    (first / "new.txt").write_text("precious\n")
    git(second, "update-index", "--skip-worktree", "README.md")
    (second / "README.md").write_text("precious\n")
    receipt = instance.json("down", cwd=where)
    assert {kept["path"] for kept in receipt["kept"]} == {str(first), str(second)}
    assert (first / "new.txt").read_text() == (second / "README.md").read_text() == "precious\n"


@pytest.mark.parametrize("command", [["logs", "-f", "a"], ["events", "-f"]])
def test_a_stream_that_is_cut_says_so(instance: Instance, command: list[str]) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    follower = subprocess.Popen(
        instance.argv(*command), env=instance.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with instance.follow("events", "-f", "--json") as events:
        events.until(lambda event: event["event"] == "agent.started")
    os.kill(pid_of_lock(instance, "daemon.lock"), signal.SIGKILL)
    _, said = follower.communicate(timeout=20)
    assert follower.returncode == 6
    assert b"daemon" in said


@pytest.mark.slow
def test_a_runtime_directory_that_was_cleared_heals(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    pid = ps(instance)["a"]["pid"]
    daemon = pid_of_lock(instance, "daemon.lock")
    os.unlink(os.path.join(instance.runtime, "daemon.sock"))
    code, error = instance.error("daemon", "stop")
    assert (code, str(daemon) in error["message"]) == (6, True)
    wait_for(lambda: not _runs(daemon), seconds=30, what="the end of the daemon that nobody can reach")
    instance.run("daemon", "start")
    assert (ps(instance)["a"]["state"], ps(instance)["a"]["pid"]) == ("running", pid)
    down(instance)


def test_a_daemon_without_its_socket_ends_with_a_code_that_has_it_started_again(instance: Instance) -> None:
    often = "from corral import hosting; hosting._SOCKET_CHECK_SECONDS = 0.1; from corral.cli.main import main; main()"
    path = os.path.join(instance.runtime, "daemon.sock")

    def ending(end: Callable[[subprocess.Popen[bytes]], None]) -> int:
        daemon = subprocess.Popen(
            [sys.executable, "-c", often, "daemon", "run"], env=instance.environment(), stderr=subprocess.DEVNULL
        )
        wait_for(lambda: os.path.exists(path), what="its socket")
        end(daemon)
        return daemon.wait(20)

    assert ending(lambda daemon: os.unlink(path)) == UnavailableError.exit_code
    assert ending(lambda daemon: daemon.terminate()) == 0


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
