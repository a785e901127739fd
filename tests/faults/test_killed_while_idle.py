"""The daemon and the keeper are killed while nothing happens: no agent notices, and the next ones find them all."""

import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.faults.support.population import (
    assert_one_of_each,
    daemons,
    keepers,
    kill_daemon,
    kill_keeper,
    population,
    send_signal,
    tmux_servers,
)
from tests.faults.support.teams import DEMO, IDLE, await_event, await_states, down, events, last_seq, pids, ps, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.waiting import wait_for

_NAMES = {"a-1", "a-2", "a-3"}


def _up(instance: Instance) -> dict[str, int]:
    instance.spec(toml({"a": {"command": IDLE, "count": 3, "restart": "always"}}))
    instance.run("up")
    return pids(instance)


def _same(instance: Instance, before: dict[str, int]) -> None:
    assert pids(instance) == before
    assert_one_of_each(instance, set(before))
    assert {agent["restarts"] for agent in ps(instance).values()} == {0}
    assert len(daemons(instance)) == 1
    assert len(keepers(instance)) == 1
    assert len(tmux_servers(instance)) == 1


def test_a_daemon_that_is_killed_leaves_every_agent_running_and_the_next_one_finds_them(instance: Instance) -> None:
    before = _up(instance)
    for _ in range(3):
        kill_daemon(instance)
        code, error = instance.error("ps")
        assert (code, error["code"]) == (6, "unavailable")  # nobody knows, and a reader starts nobody
        assert "corral daemon start" in error["remedy"]
        assert daemons(instance) == []
        assert population(instance) == {name: [pid] for name, pid in before.items()}
        instance.run("daemon", "start")
        _same(instance, before)
    down(instance)
    assert instance.json("ps") == []


def test_a_daemon_that_is_stopped_leaves_every_agent_running(instance: Instance) -> None:
    before = _up(instance)
    (keeper,) = keepers(instance)
    instance.run("daemon", "stop")
    assert daemons(instance) == []
    assert [one.pid for one in keepers(instance)] == [keeper.pid]  # it goes on recording
    assert population(instance) == {name: [pid] for name, pid in before.items()}
    instance.run("up")
    _same(instance, before)
    down(instance)


def test_a_keeper_that_is_killed_is_replaced_and_no_agent_notices(instance: Instance) -> None:
    before, seq = _up(instance), last_seq(instance)
    for _ in range(3):
        (keeper,) = keepers(instance)
        kill_keeper(instance)
        await_states(instance, dict.fromkeys(_NAMES, "running"))
        instance.run("send", "a-1", "hello")
        assert keeper.pid not in {one.pid for one in keepers(instance)}
        _same(instance, before)
    happened = [event["event"] for event in events(instance, "--after", str(seq))]
    assert not {"agent.exited", "agent.started", "agent.starting", "agent.failed"} & set(happened)
    down(instance)


def test_both_are_killed(instance: Instance) -> None:
    before = _up(instance)
    kill_daemon(instance)
    kill_keeper(instance)
    assert population(instance) == {name: [pid] for name, pid in before.items()}
    instance.run("up")
    _same(instance, before)
    down(instance)


def test_what_happened_while_nobody_watched_is_found_out(instance: Instance) -> None:
    before = _up(instance)
    seq = last_seq(instance)
    kill_daemon(instance)
    kill_keeper(instance)
    one = processes.process(before["a-2"])
    assert one
    processes.kill(one)
    instance.run("daemon", "start")
    exited = await_event(instance, "agent.exited", "a-2", after=seq)
    assert exited["data"]["exit_code"] == 137
    await_states(instance, dict.fromkeys(_NAMES, "running"))
    assert_one_of_each(instance, _NAMES)
    assert pids(instance)["a-1"] == before["a-1"]
    assert {name: agent["restarts"] for name, agent in ps(instance).items()} == {"a-1": 0, "a-2": 1, "a-3": 0}


def test_output_is_recorded_while_there_is_no_daemon_and_after_a_new_keeper_came(
    instance: Instance, own_directory: Path
) -> None:
    # A writer that has not closed yet when the pipe is opened again gives an end and no line.
    script = 'while :; do read -r line <"$0" && echo "said $line"; done'
    os.mkfifo(own_directory / "pipe")
    instance.spec(toml({"a": {"command": ["sh", "-c", script, str(own_directory / "pipe")]}}))
    instance.run("up")
    kill_daemon(instance)
    (own_directory / "pipe").write_text("without a daemon\n")
    instance.run("daemon", "start")
    with instance.follow("logs", "-f", "a") as logs:
        assert logs.line() == "said without a daemon"
    kill_keeper(instance)
    await_states(instance, {"a": "running"})
    instance.run("send", "a", "x")
    (own_directory / "pipe").write_text("to a new keeper\n")
    with instance.follow("logs", "-f", "a") as logs:
        while logs.line() != "said to a new keeper":
            pass
    down(instance)


def test_twenty_starts_at_once_are_one_daemon(instance: Instance) -> None:
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: instance.json("daemon", "start"), range(20)))
    assert len({answer["pid"] for answer in answers}) == 1
    assert sum(answer["started"] for answer in answers) == 1
    assert len(daemons(instance)) == 1


@pytest.mark.slow
def test_twenty_ups_at_once_are_one_team(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 3, "restart": "always"}}))
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: instance.json("up"), range(20)))
    assert sum(answer["changed"] for answer in answers) == 1
    assert len(daemons(instance)) == 1
    assert len(keepers(instance)) == 1
    assert len(tmux_servers(instance)) == 1
    assert_one_of_each(instance, _NAMES)
    with ThreadPoolExecutor(10) as pool:
        receipts = list(pool.map(lambda _: instance.run("down", "--json", check=False), range(10)))
    assert {receipt.returncode for receipt in receipts} <= {0, 3}
    assert population(instance) == {}


@pytest.mark.slow
def test_up_down_and_a_new_daemon_in_quick_succession(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    for _ in range(8):
        instance.run("up")
        assert_one_of_each(instance, {"a-1", "a-2"})
        down(instance)
        instance.run("daemon", "stop")


def test_a_keeper_that_hangs_does_not_hang_ps_and_is_waited_for(instance: Instance) -> None:
    before = _up(instance)
    (keeper,) = keepers(instance)
    send_signal(keeper, signal.SIGSTOP)
    try:
        assert pids(instance) == before
    finally:
        with contextlib.suppress(ProcessLookupError):
            send_signal(keeper, signal.SIGCONT)
    instance.run("send", "a-1", "hello")
    _same(instance, before)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["daemon", "keeper"])
def test_a_kill_during_send_delivers_once_or_not_at_all_and_is_never_called_done_wrongly(
    instance: Instance, own_directory: Path, victim: str
) -> None:
    instance.spec(toml({"a": {"command": DEMO, "prompt": "say: ready"}}))
    instance.run("up")
    await_event(instance, "prompt.submitted", "a")
    kill = kill_daemon if victim == "daemon" else kill_keeper
    outcomes = []
    with ThreadPoolExecutor(1) as pool:
        for number in range(8):
            message = f"\nappend got.txt: round {number}\n" + "x" * 500_000
            sending = pool.submit(instance.run, "send", "a", "-", input=message, check=False)
            time.sleep(0.05 + 0.025 * number)  # the moment of the kill is the point
            kill(instance)
            outcomes.append(sending.result().returncode)
            if victim == "daemon":
                instance.run("daemon", "start")
            await_states(instance, {"a": "running"})
    assert set(outcomes) <= {0, 6}, outcomes
    instance.run("send", "a", "-", input="\nappend got.txt: the end")
    got = own_directory / "got.txt"
    wait_for(lambda: got.exists() and "the end" in got.read_text(), 10, "the last message arrives")
    rounds = got.read_text().splitlines()
    assert len(rounds) == len(set(rounds)), "a message was delivered twice"
    for number, code in enumerate(outcomes):
        assert code == 6 or f"round {number}" in rounds, f"message {number} was called submitted: {outcomes} {rounds}"
    down(instance)
    assert os.listdir(os.path.join(instance.runtime, "launch")) == [], "a message was left lying about"
