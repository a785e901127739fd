"""Daemon, keeper, tmux server and agents are killed at random while messages are sent.

However it went, the declared team is found again, each agent once; no message that was taken is lost, and none is
submitted twice. What is killed is a process of this instance, by pid and start time.

A minute of it by default; FAULT_SECONDS=1800 makes a soak of it. FAULT_SEED repeats the choices of a run, though not
its moments: what the machine does besides is not ours to choose.
"""

import hashlib
import json
import os
import random
import secrets
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import assert_one_of_each, daemons, keepers, population, tmux_servers
from tests.faults.support.teams import DEMO, await_states, down, failure, ps, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.processes import Process
from tests.support.waiting import wait_for

_SECONDS = float(os.environ.get("FAULT_SECONDS", "60"))
_SEED = os.environ.get("FAULT_SEED") or secrets.token_hex(4)
_NAMES = ("a-1", "a-2", "a-3")
#: Between two kills, and before somebody starts a daemon again that is not there.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
#: A kill of the tmux server takes all agents along, so it comes less often.
_VICTIMS = ("daemon", "daemon", "keeper", "keeper", "agent", "agent", "agent", "tmux")
#: Of a message that is on its way no longer.
_OVER = ("observed", "submitted", "failed", "unknown")


@dataclass
class Sender:
    """Sends messages, each of them once and no two alike, and keeps what it was told of each."""

    instance: Instance
    chance: random.Random
    #: message → its text, of those that were taken.
    taken: dict[str, str] = field(default_factory=dict)
    #: Texts of which nobody said that they were taken; they may have been.
    doubtful: list[str] = field(default_factory=list)

    def send(self, number: int) -> None:
        text = f"message {number} of {_SEED}"
        agent = self.chance.choice(_NAMES)
        done = self.instance.run("send", "--wait", "queued", "--json", agent, text, check=False)
        if done.returncode == 0:
            self.taken[json.loads(done.stdout)["message"]] = text
        else:
            # Refused, because the agent does not run this moment, or nobody can tell. Never a mistake of ours.
            assert done.returncode in (1, 4, 6), done.stderr
            assert "the daemon failed" not in done.stderr
            self.doubtful.append(text)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send one after the other meanwhile."""
        over = threading.Event()
        failed: list[BaseException] = []

        def work() -> None:
            number = 0
            try:
                while not over.is_set():
                    number += 1
                    self.send(number)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(120)
        assert not thread.is_alive()
        if failed:
            raise failed[0]


def _victims(instance: Instance, kind: str) -> list[Process]:
    if kind == "agent":
        found = [processes.process(pid) for pids in population(instance).values() for pid in pids]
        return [one for one in found if one is not None]
    return {"daemon": daemons, "keeper": keepers, "tmux": tmux_servers}[kind](instance)


def _kill_one(instance: Instance, chance: random.Random) -> str:
    """Kill somebody, if there is one of that kind at this moment; what it was."""
    kind = chance.choice(_VICTIMS)
    found = sorted(_victims(instance, kind), key=lambda one: one.pid)
    if not found:
        return ""
    processes.kill(chance.choice(found))
    return kind


def _told(instance: Instance) -> dict[str, list[int]]:
    """The process of each agent, as `corral ps` has it."""
    return {name: [agent["pid"]] for name, agent in ps(instance).items()}


def _somebody_starts_a_daemon(instance: Instance) -> None:
    """As the service manager of a person would. Somebody may kill it before it has said that it is there."""
    done: subprocess.CompletedProcess[str] = instance.run("daemon", "start", check=False)
    assert done.returncode in (0, 1, 6), done.stderr


def _status(instance: Instance, message: str) -> str:
    """How far a message got. One that is lost, of which nobody knows any more, fails the test."""
    done = instance.run("send", "--status", message, "--wait", "queued", "--json", check=False)
    receipt: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else failure(done)["receipt"]
    return str(receipt["state"])


@pytest.mark.slow
def test_the_team_is_found_again_and_no_message_is_lost_or_doubled(instance: Instance, own_directory: Path) -> None:
    print(f"FAULT_SEED={_SEED} FAULT_SECONDS={_SECONDS:g}")
    chance = random.Random(_SEED)
    log = own_directory / "got"
    log.touch()
    again = {"policy": "always", "attempts": 1000, "steady": "1s", "delay": "100ms", "longest": "1s"}
    keys = {"command": DEMO, "count": len(_NAMES), "restart": again, "env": {"DEMO_AGENT_LOG": str(log)}}
    instance.spec(toml({"a": keys}))
    instance.run("up")
    sender = Sender(instance, random.Random(f"{_SEED} sender"))
    killed: Counter[str] = Counter()
    until = time.monotonic() + _SECONDS
    with sender.sending():
        while time.monotonic() < until:
            time.sleep(chance.uniform(_SHORTEST_PAUSE, _LONGEST_PAUSE))
            killed[_kill_one(instance, chance)] += 1
            if chance.random() < 0.7 and not daemons(instance):
                _somebody_starts_a_daemon(instance)
    print(f"killed: {dict(killed)}; taken: {len(sender.taken)}, doubtful: {len(sender.doubtful)}")

    instance.run("daemon", "start")
    instance.run("up", check=False)  # what is on its way up is so, however this one fares
    await_states(instance, dict.fromkeys(_NAMES, "running"), seconds=60)
    # Whoever was killed last may have been seen as running a moment ago. Sooner than by the next sweep it is known.
    wait_for(lambda: _told(instance) == population(instance), 10, "corral ps tells the processes that there are")
    assert_one_of_each(instance, set(_NAMES))
    assert [len(found(instance)) for found in (daemons, keepers, tmux_servers)] == [1, 1, 1]

    states: dict[str, str] = {}

    def all_are_over() -> bool:
        for message in sender.taken:
            if states.get(message) not in _OVER:
                states[message] = _status(instance, message)
        return all(states[message] in _OVER for message in sender.taken)

    wait_for(all_are_over, 120, f"every message is over: {states}")
    got = Counter(log.read_text().split())
    print(f"states: {dict(Counter(states.values()))}; got: {sum(got.values())}")
    count = {
        text: got[hashlib.sha256(text.encode()).hexdigest()] for text in [*sender.taken.values(), *sender.doubtful]
    }
    assert {text: times for text, times in count.items() if times > 1} == {}, "submitted twice"
    lost = [text for message, text in sender.taken.items() if states[message] == "observed" and not count[text]]
    assert lost == [], "said to be observed, and no agent got it"
    typed = [text for message, text in sender.taken.items() if states[message] == "failed" and count[text]]
    assert typed == [], "said to be failed, and an agent got it"
    # One at a time is under way to each agent, and that alone can be gone with whoever was killed: never one in line.
    missing = [text for text in sender.taken.values() if not count[text]]
    at_most = sum(times * (1 if kind == "agent" else len(_NAMES)) for kind, times in killed.items() if kind)
    assert len(missing) <= at_most, f"lost: {missing}"
    # Otherwise nothing was tried.
    assert sum(times for kind, times in killed.items() if kind) >= min(10, _SECONDS / 4)
    assert Counter(states.values())["observed"] >= len(_NAMES)
    down(instance)
