"""`stats` with real processes: the figures are those of the agents, and of nobody else."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

FIELDS = {
    "team",
    "agent",
    "state",
    "paused",
    "time",
    "cpu_percent",
    "cpu_seconds",
    "memory_current",
    "memory_peak",
    "memory_limit",
    "tasks",
    "tasks_limit",
    "pressure",
    "oom_kills",
    "containment",
    "cgroup",
    "unknown",
}
MIB = 1 << 20


def python(code: str) -> str:
    return json.dumps([sys.executable, "-c", code])


def up(instance: Instance, systemd: str, **commands: str) -> None:
    agents = "".join(f"[agents.{name}]\ncommand = {command}\n" for name, command in commands.items())
    instance.spec(f'[team]\nname = "shop"\n[containment]\nsystemd = "{systemd}"\n{agents}')
    instance.run("up")


def stats(instance: Instance, *words: str) -> dict[str, Any]:
    return {stat["agent"]: stat for stat in instance.json("stats", *words)}


@pytest.mark.parametrize("systemd", ["auto", "off"])
class TestAtEveryLevel:
    def test_a_busy_agent_uses_a_processor_and_a_quiet_one_none(self, instance: Instance, systemd: str) -> None:
        up(instance, systemd, busy=python("while True: pass"), quiet='["cat"]')
        first = stats(instance)
        assert list(first) == ["busy", "quiet", ""]
        assert all(stat.keys() == FIELDS for stat in first.values())
        (level,) = {agent["containment"] for agent in instance.json("ps")}
        assert {stat["containment"] for stat in first.values()} == {level}
        # How much of a processor it gets depends on who else wants one; that it is more than none does not.
        busy = wait_for(
            lambda: (now := stats(instance))["busy"]["cpu_percent"] > 5 and now, what="the busy agent is seen"
        )
        assert busy["busy"]["cpu_seconds"] > first["busy"]["cpu_seconds"]
        assert busy["quiet"]["cpu_seconds"] < 0.5
        assert busy[""]["cpu_seconds"] >= busy["busy"]["cpu_seconds"]
        assert busy[""]["tasks"] >= busy["busy"]["tasks"] + busy["quiet"]["tasks"] >= 2
        instance.run("pause", "busy")
        before, after = stats(instance, "busy")["busy"], stats(instance, "busy")["busy"]
        assert (after["cpu_seconds"], after["cpu_percent"]) == (before["cpu_seconds"], 0)
        assert after["paused"] is True

    def test_memory_that_an_agent_takes_is_seen(self, instance: Instance, own_directory: Path, systemd: str) -> None:
        take = own_directory / "take"
        code = (
            "import os, time\n"
            f"while not os.path.exists({str(take)!r}): time.sleep(0.01)\n"
            f"held = b'x' * {200 * MIB}\n"
            "time.sleep(1000)\n"
        )
        up(instance, systemd, a=python(code), b='["cat"]')
        before = stats(instance)
        assert before["a"]["memory_current"] < 100 * MIB
        take.touch()
        after = wait_for(
            lambda: (now := stats(instance))["a"]["memory_current"] > 200 * MIB and now, what="the memory is seen"
        )
        assert after["b"]["memory_current"] < 100 * MIB
        assert after[""]["memory_current"] > 200 * MIB
        assert after["a"]["memory_peak"] is None or after["a"]["memory_peak"] > 200 * MIB


def test_some_agents_and_one_that_is_stopped(instance: Instance) -> None:
    up(instance, "auto", a='["cat"]', b='["cat"]')
    instance.run("stop", "b")
    assert [(stat["agent"], stat["state"]) for stat in instance.json("stats", "b")] == [("b", "stopped")]
    assert stats(instance, "b")["b"]["cpu_percent"] is None
    table = instance.run("stats").stdout.splitlines()
    assert [line.split()[:3] for line in table[1:]] == [
        ["shop", "a", "running"],
        ["shop", "b", "stopped"],
        ["shop", "(team)", "-"],
    ]


def test_it_goes_on_until_the_team_is_gone(instance: Instance) -> None:
    up(instance, "auto", a='["cat"]')
    with instance.follow("stats", "-f", "--every", "100ms", "--json", "-t", "shop") as stream:
        first, second = json.loads(stream.line()), json.loads(stream.line())
        assert [stat["agent"] for stat in first] == [stat["agent"] for stat in second] == ["a", ""]
        assert second[0]["time"] > first[0]["time"]
        instance.run("down")
        assert stream.process.wait(20) == 3


def test_it_starts_nothing(instance: Instance) -> None:
    assert instance.json("stats") == []
    assert not Path(instance.home).exists()
    up(instance, "auto", a='["cat"]')
    instance.run("daemon", "stop")
    code, error = instance.error("stats")
    assert (code, error["remedy"]) == (6, "corral daemon start")
    instance.run("daemon", "start")


def test_an_interval_that_makes_no_sense_is_wrong_use(instance: Instance) -> None:
    up(instance, "auto", a='["cat"]')
    for every in ("0", "50ms", "1000d"):
        assert instance.error("stats", "--every", every)[0] == 2
