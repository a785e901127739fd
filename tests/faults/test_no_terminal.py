"""Whoever is killed, an agent without a terminal goes on, and its log has each of its bytes once."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.population import daemons, keepers, kill_daemon, kill_keeper, send_signal, tmux_servers
from tests.faults.support.teams import IDLE, await_event, await_states, down, last_seq, ps, states, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.processes import Process
from tests.support.waiting import wait_for

#: Counts as fast as a terminal would be read, until it is told to stop; then tells how far it got.
_COUNTING = "i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i; [ $((i % 10)) = 0 ] && sleep 0.01; done; echo end $i"


def hosts(instance: Instance) -> list[Process]:
    """The hosts of the instance's processes."""
    return [one for one in processes.snapshot().values() if one.name == "corral: host" and _is_of(instance, one)]


def _is_of(instance: Instance, one: Process) -> bool:
    return processes.stands_on(one.pid, instance.directory)


def log_of(instance: Instance, agent: str = "a") -> list[str]:
    return instance.run("logs", "-n", "all", agent).stdout.splitlines()


def kill_host(instance: Instance) -> None:
    (host,) = hosts(instance)
    processes.kill(host)


def kill_all_three(instance: Instance) -> None:
    for one in [*daemons(instance), *keepers(instance), *hosts(instance)]:
        processes.kill(one)


KILLS: dict[str, Callable[[Instance], None]] = {
    "the daemon": kill_daemon,
    "the keeper": kill_keeper,
    "the host": kill_host,
    "all of them": kill_all_three,
}


@pytest.mark.slow
@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS.keys())
def test_over_kills_its_log_is_whole(instance: Instance, own_directory: Path, kill: Callable[[Instance], None]) -> None:
    instance.spec(toml({"a": {"command": _COUNTING, "terminal": "none"}}))
    instance.run("up")
    pid = ps(instance)["a"]["pid"]

    def is_recorded() -> None:
        seen = len(log_of(instance))
        wait_for(lambda: len(log_of(instance)) > seen + 50, what="it counts on, and somebody reads")

    for _ in range(4):
        is_recorded()
        kill(instance)
        instance.run("daemon", "start")
        wait_for(lambda: states(instance) == {"a": "running"} or None, what="it is seen again")
    # What is in a pipe goes with the last who has it open: if it ended before the next host is there, its last words.
    is_recorded()
    assert ps(instance)["a"]["pid"] == pid
    (own_directory / "stop").touch()
    await_states(instance, {"a": "stopped"})
    assert ps(instance)["a"]["exit_code"] == 0
    *lines, end = log_of(instance)
    assert lines == [str(number) for number in range(1, len(lines) + 1)]
    assert end == f"end {len(lines)}"
    down(instance)


@pytest.mark.slow
def test_what_is_written_while_there_is_no_keeper_is_recorded_by_the_next(
    instance: Instance, own_directory: Path
) -> None:
    script = "echo before; until [ -e go ]; do sleep 0.01; done; seq 100000; touch done; exec sleep 86400"
    instance.spec(toml({"a": {"command": script, "terminal": "none"}}))
    instance.run("up")
    wait_for(lambda: log_of(instance) == ["before"] or None, what="the record begins")
    kill_daemon(instance)
    kill_keeper(instance)
    (own_directory / "go").touch()
    wait_for(lambda: (own_directory / "done").exists(), what="all of it is written, and nobody reads")
    instance.run("daemon", "start")
    wait_for(lambda: len(log_of(instance)) > 100_000 or None, what="it is recorded")
    assert log_of(instance) == ["before", *map(str, range(1, 100_001))]


@pytest.mark.slow
def test_one_that_ends_while_there_is_no_keeper_is_told_truly(instance: Instance, own_directory: Path) -> None:
    script = "until [ -e go ]; do sleep 0.01; done; echo last words; touch done; exit 7"
    instance.spec(toml({"a": {"command": script, "terminal": "none"}}))
    instance.run("up")
    seq = last_seq(instance)
    kill_daemon(instance)
    kill_keeper(instance)
    (own_directory / "go").touch()
    wait_for(lambda: (own_directory / "done").exists(), what="it ends")
    instance.run("daemon", "start")
    exited = await_event(instance, "agent.exited", "a", after=seq)
    assert (exited["data"]["exit_code"], exited["data"]["last_words"]) == (7, "last words")
    assert log_of(instance) == ["last words"]


def test_the_tmux_server_of_its_team_is_not_its_own(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE, "terminal": "none"}}))
    instance.run("up")
    before = ps(instance)
    (server,) = tmux_servers(instance)
    processes.kill(server)
    await_states(instance, {"a": "failed", "b": "running"})
    now = ps(instance)
    assert "tmux" in now["a"]["reason"]
    assert (now["b"]["pid"], now["b"]["since"]) == (before["b"]["pid"], before["b"]["since"])
    instance.run("up")
    assert states(instance) == {"a": "running", "b": "running"}
    assert ps(instance)["b"]["pid"] == before["b"]["pid"]
    down(instance)


def test_the_host_of_its_team_is_nobody_elses(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": ["cat"], "terminal": "none"}}))
    instance.run("up")
    before = ps(instance)
    kill_host(instance)
    # Its standard input was the host's to hold open: `cat` reads the end of it, and that it did its shell wrote down.
    await_states(instance, {"a": "running", "b": "stopped"})
    now = ps(instance)
    assert now["b"]["exit_code"] == 0
    assert (now["a"]["pid"], now["a"]["since"]) == (before["a"]["pid"], before["a"]["since"])
    down(instance)


@pytest.mark.slow
@pytest.mark.parametrize("keeper", ["that knows it", "that comes later"])
def test_a_host_that_is_stopped_keeps_nobody_from_taking_the_team_down(instance: Instance, keeper: str) -> None:
    instance.spec(toml({"a": {"command": IDLE, "terminal": "none"}}))
    instance.run("up")
    pid = ps(instance)["a"]["pid"]
    (host,) = hosts(instance)
    send_signal(host, signal.SIGSTOP)
    if keeper == "that comes later":
        kill_keeper(instance)
    down(instance)
    assert not processes.is_alive(pid)
    assert not hosts(instance)
