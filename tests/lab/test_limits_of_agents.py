"""Limits of a `corral.toml`, enforced by a kernel of its own, and changed while agents run."""

import time

import pytest

from tests.lab.support.instances import LabInstance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.full_machine

_HOG = "python3 -c 'import time; kept = bytearray(400 << 20); time.sleep(1000)'"
#: On one processor: on two they would not meet.
_BUSY = "taskset --cpu-list 0 sh -c 'while :; do :; done'"


def _spec(agents: str, *, team: str = "") -> str:
    return f'[team]\nname = "shop"\n{team}\n[containment]\nsystemd = "require"\n{agents}'


def _cpu(instance: LabInstance) -> dict[str, float]:
    return {one["agent"]: one["cpu_seconds"] for one in instance.json("stats")}


def test_an_agent_that_wants_too_much_memory_is_killed_alone_and_that_is_said(lab_instance: LabInstance) -> None:
    lab_instance.spec(
        _spec(f'[agents.hog]\ncommand = "{_HOG}"\nmemory_max = "100M"\n[agents.calm]\ncommand = ["sleep", "1000"]\n')
    )
    lab_instance.corral("up", check=False)
    found = wait_for(
        lambda: next((one for one in lab_instance.json("ps") if one["state"] == "failed"), None), 60, "the kill"
    )
    assert found["agent"] == "hog"
    assert found["exit_code"] == 137
    assert "out of memory" in found["reason"]
    assert {one["agent"]: one["state"] for one in lab_instance.json("ps")} == {"hog": "failed", "calm": "running"}
    lab_instance.corral("down")


def test_a_limit_that_the_file_raises_holds_for_the_agent_that_runs(lab_instance: LabInstance) -> None:
    agent = '[agents.a]\ncommand = ["sleep", "1000"]\n'
    lab_instance.spec(_spec(agent + 'memory_max = "100M"\ntasks_max = 20\n'))
    lab_instance.corral("up")
    (before,) = lab_instance.json("ps")
    lab_instance.spec(_spec(agent + 'memory_max = "200M"\ntasks_max = 30\n', team='memory_max = "1G"'))
    (step,) = lab_instance.json("up")["agents"]
    assert (step["action"], step["differs"]) == ("adjust", ["memory_max", "tasks_max"])
    (after,) = lab_instance.json("ps")
    assert after["pid"] == before["pid"]
    figures = {one["agent"]: one for one in lab_instance.json("stats")}
    assert (figures["a"]["memory_limit"], figures["a"]["tasks_limit"]) == (200 << 20, 30)
    lab_instance.corral("down")


def test_under_contention_processor_time_is_shared_by_weight(lab_instance: LabInstance) -> None:
    heavy = f'[agents.heavy]\ncommand = "{_BUSY}"\ncpu_weight = 900\n'
    light = f'[agents.light]\ncommand = "{_BUSY}"\ncpu_weight = 100\n'
    lab_instance.spec(_spec(heavy + light))
    lab_instance.corral("up")
    began = _cpu(lab_instance)
    time.sleep(20)  # what is measured
    ended = _cpu(lab_instance)
    used = {name: ended[name] - began[name] for name in ("heavy", "light")}
    assert used["heavy"] > 3 * used["light"], used
    lab_instance.corral("down")


def test_more_tasks_than_allowed_cannot_be_started(lab_instance: LabInstance) -> None:
    bomb = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 1000 & done; echo all started; wait"
    lab_instance.spec(_spec(f'[agents.bomb]\ncommand = ["sh", "-c", "{bomb}"]\ntasks_max = 8\n'))
    lab_instance.corral("up", check=False)
    wait_for(lambda: "ork" in lab_instance.corral("logs", "bomb").stdout or None, 30, "what the shell says of it")
    assert "all started" not in lab_instance.corral("logs", "bomb").stdout
    assert lab_instance.json("down")["clean"]
