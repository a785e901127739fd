"""A disk that takes nothing more below CORRAL_HOME: agents go on, what is told is right, and the story has no gap."""

import itertools
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.disks import Disk
from tests.faults.support.population import assert_one_of_each, everything, population, tmux_servers
from tests.faults.support.teams import DEMO, IDLE, await_event, await_states, down, events, last_seq, pids, states, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.repos import git
from tests.support.waiting import wait_for


def _kill(pid: int) -> None:
    one = processes.process(pid)
    assert one
    processes.kill(one)


def _wait_for_states(instance: Instance, wanted: dict[str, str]) -> None:
    # An event that cannot be written cannot be waited for.
    wait_for(lambda: states(instance) == wanted, 10, f"ps tells {wanted}")


def test_up_on_a_full_disk_says_so_and_starts_nothing(home_disk: Disk, instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    with home_disk.full():
        done = instance.run("up", check=False)
        assert done.returncode in (1, 6)
        assert "No space left" in done.stderr or "disk is full" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
        assert everything(instance) == []
    instance.run("up")
    assert_one_of_each(instance, {"a-1", "a-2"})


def test_up_on_a_disk_that_filled_up_since_the_daemon_came_starts_nothing(
    home_disk: Disk, instance: Instance, repo: Callable[..., Path]
) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}, repo=repo()))
    instance.run("daemon", "start")
    with home_disk.full():
        code, error = instance.error("up")
        assert code == 1
        assert "full" in error["message"] or "No space left" in error["message"]
        assert error["remedy"]
        assert population(instance) == {}
        assert tmux_servers(instance) == []
        assert states(instance) == {}
    instance.run("up")
    assert_one_of_each(instance, {"a-1", "a-2"})


@pytest.mark.slow
def test_a_running_team_goes_on_over_a_full_disk_and_its_story_has_no_gap(home_disk: Disk, instance: Instance) -> None:
    agents: dict[str, dict[str, object]] = {
        "steady": {"command": IDLE},
        "mortal": {"command": IDLE, "restart": "always"},
        "finite": {"command": IDLE},
    }
    instance.spec(toml(agents))
    instance.run("up")
    before, seq = pids(instance), last_seq(instance)
    with home_disk.full():
        _kill(before["mortal"])
        _kill(before["finite"])
        _wait_for_states(instance, {"steady": "running", "mortal": "backoff", "finite": "failed"})
        assert population(instance) == {"steady": [before["steady"]]}
        # SQLite may have a page left in its log, so this is refused or done, and never something in between.
        stop = instance.run("stop", "steady", check=False)
        if stop.returncode == 0:
            assert states(instance)["steady"] == "stopped"
            assert population(instance) == {}
        else:
            assert (stop.returncode, "full" in stop.stderr) == (1, True), stop.stderr
            assert population(instance) == {"steady": [before["steady"]]}
    instance.run("up")
    await_states(instance, dict.fromkeys(agents, "running"))
    assert_one_of_each(instance, set(agents))
    exits = [event for event in events(instance, "--after", str(seq)) if event["event"] == "agent.exited"]
    assert sorted(event["agent"] for event in exits) == ["finite", "mortal"]
    # Not whoever gave the command with which it was written at last.
    assert {event["who"]["user"] for event in exits} == {"corral"}
    down(instance)


@pytest.mark.slow
def test_what_was_seen_meanwhile_is_written_once_there_is_room_though_nothing_else_happens(
    home_disk: Disk, instance: Instance
) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}))
    instance.run("up")
    seq = last_seq(instance)
    with home_disk.full():
        _kill(pids(instance)["a"])
        _wait_for_states(instance, {"a": "failed", "b": "running"})
    await_event(instance, "agent.exited", "a", after=seq, seconds=40)


def test_a_message_that_cannot_be_written_down_is_refused_and_never_typed(
    home_disk: Disk, instance: Instance, own_directory: Path
) -> None:
    instance.spec(toml({"a": {"command": DEMO, "prompt": "say: ready"}}))
    instance.run("up")
    await_event(instance, "prompt.submitted", "a")
    with home_disk.full():
        code, error = instance.error("send", "a", "write arrived.txt: yes")
        assert code == 1, error
    instance.run("send", "--wait", "observed", "a", "say: more")
    assert not (own_directory / "arrived.txt").exists()
    assert "arrived" not in instance.run("logs", "a").stdout


@pytest.mark.slow
def test_logs_tell_that_they_miss_something_and_go_on(home_disk: Disk, instance: Instance) -> None:
    script = "n=0; while :; do n=$((n+1)); echo line $n $(head -c 4000 /dev/zero | tr '\\0' x); sleep 0.02; done"
    instance.spec(toml({"a": {"command": ["sh", "-c", script]}}))
    instance.run("up")
    with instance.follow("logs", "-f", "a") as logs:
        logs.line()
        with home_disk.full():
            time.sleep(1)  # long enough for a few attempts to write
        degraded = await_event(instance, "agent.degraded", "a")
        assert "not recorded" in degraded["data"]["reason"]
        seen = [number for number in iter(lambda: _number(logs.line()), 300) if number]
        assert seen == sorted(set(seen))
        assert any(after > before + 1 for before, after in itertools.pairwise(seen))  # that is what was missed
    assert states(instance) == {"a": "running"}
    down(instance)


def _number(line: str) -> int | None:
    match = re.fullmatch(r"line (\d+) x{4000}", line)
    return int(match[1]) if match else None


def test_worktrees_that_do_not_fit_fail_their_agents_and_leave_nothing_half_made(
    home_disk: Disk, instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    (path / "large.bin").write_bytes(os.urandom(3 << 20))
    git(path, "add", "-A")
    git(path, "commit", "--quiet", "--message=Large")
    instance.spec(toml({"a": {"command": IDLE, "count": 3}}, repo=path))
    done = instance.run("up", "--json", check=False)
    assert done.returncode == 1, done.stderr
    worktrees = Path(instance.home, "worktrees", "shop")
    assert states(instance) == {"a-1": "running", "a-2": "failed", "a-3": "failed"}
    assert population(instance).keys() == {"a-1"}
    assert git(worktrees / "a-1", "status", "--porcelain") == ""
    assert os.listdir(worktrees) == ["a-1"]
    assert git(path, "branch", "--format=%(refname:short)").split() == ["corral/shop/a-1", "main"]
    assert "large.bin" in done.stdout
    down(instance)
    assert git(path, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize("how", [["restart", "a"], ["up", "--restart-changed"]], ids=["restart", "up"])
def test_what_could_not_be_started_again_is_not_ended(home_disk: Disk, instance: Instance, how: list[str]) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    running = pids(instance)
    instance.spec(toml({"a": {"command": IDLE, "env": {"CHANGED": "1"}}}))
    with home_disk.full():
        code, error = instance.error(*how)
        assert (code, "full" in error["message"] or "No space left" in error["message"]) == (1, True)
        assert "nothing was changed" in error["remedy"]
        assert (states(instance), pids(instance)) == ({"a": "running"}, running)
        assert_one_of_each(instance, {"a"})
    instance.run(*how)
    assert_one_of_each(instance, {"a"})
    assert pids(instance) != running
    down(instance)
