"""A keeper that does not answer: each command says so, and which one, before it would blame the daemon."""

import contextlib
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from corral.client.wire import ANSWER_SECONDS
from tests.faults.support.population import assert_one_of_each, keepers, population, send_signal
from tests.faults.support.teams import IDLE, await_states, down, events, last_seq, pids, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.processes import Process

_NAMES = {"a-1", "a-2"}


@contextlib.contextmanager
def hung_keeper(instance: Instance) -> Iterator[Process]:
    """The keeper does not run in this block."""
    (keeper,) = keepers(instance)
    send_signal(keeper, signal.SIGSTOP)
    try:
        yield keeper
    finally:
        with contextlib.suppress(ProcessLookupError, AssertionError):
            send_signal(keeper, signal.SIGCONT)


def _up(instance: Instance) -> dict[str, int]:
    instance.spec(toml({"a": {"command": IDLE, "count": 2, "restart": "always"}}))
    instance.run("up")
    return pids(instance)


@pytest.mark.slow
def test_every_command_that_needs_it_names_it_in_time_and_nothing_is_done(instance: Instance) -> None:
    before, seq = _up(instance), last_seq(instance)
    with hung_keeper(instance) as keeper:

        def refused(command: list[str]) -> None:
            began = time.monotonic()
            code, error = instance.error(*command)
            assert time.monotonic() - began < ANSWER_SECONDS, command
            assert (code, error["code"]) == (6, "unavailable"), (command, error)
            assert f"keeper (pid {keeper.pid})" in error["message"], (command, error)
            assert error["remedy"], command

        commands = "send a-1 hello|attach a-1|logs a-1|logs --screen a-1|stop a-1|restart a-1|rm --force a-1|up"
        with ThreadPoolExecutor(8) as people:
            list(people.map(refused, [command.split(" ") for command in commands.split("|")]))
        assert population(instance) == {name: [pid] for name, pid in before.items()}
        assert "running" in instance.run("ps").stdout or "unknown" in instance.run("ps").stdout
    await_states(instance, dict.fromkeys(_NAMES, "running"), seconds=40)
    assert pids(instance) == before
    assert_one_of_each(instance, _NAMES)
    happened = {event["event"] for event in events(instance, "--after", str(seq))}
    # The message stood in line, and was typed when the keeper went on.
    typed = {"message.queued", "message.sending", "message.pasted", "message.submitted"}
    assert happened <= {*typed, "agent.unknown", "agent.found"}
    down(instance)


@pytest.mark.slow
def test_one_that_is_killed_for_it_is_replaced_and_no_agent_notices(instance: Instance) -> None:
    before = _up(instance)
    with hung_keeper(instance) as keeper:
        instance.error("stop", "a-1")
        processes.kill(keeper)
        await_states(instance, dict.fromkeys(_NAMES, "running"), seconds=40)
    assert pids(instance) == before
    down(instance)


def test_many_that_come_at_once_to_a_busy_keeper_wait_for_their_turn(instance: Instance) -> None:
    _up(instance)
    path = str(Path(instance.runtime, "keeper.sock"))
    with hung_keeper(instance), contextlib.ExitStack() as all_of_them:
        for _ in range(400):
            one = all_of_them.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            one.setblocking(False)
            one.connect(path)  # BlockingIOError would mean that it is not even let into the queue
    instance.run("send", "a-1", "hello")
    down(instance)
