"""Memory that is short: who waits for it, and what becomes of whoever took too much. With limits that are enforced."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import pid_of, ps
from tests.support.waiting import wait_for

pytestmark = pytest.mark.full_machine

#: A machine under emulation is slow.
_SECONDS = 120.0


def _events(instance: LabInstance, name: str, agent: str) -> list[dict[str, Any]]:
    told = instance.corral("events", "--json", "-n", "all", "--agent", f"shop/{agent}").stdout
    return [event for line in told.splitlines() if (event := json.loads(line))["event"] == name]


def _until_running(instance: LabInstance, agent: str) -> None:
    wait_for(lambda: ps(instance)[agent]["state"] == "running", _SECONDS, f"{agent} starts by itself")


def _holding(megabytes: int) -> str:
    script = f"held = b'x' * ({megabytes} << 20); print('full', flush=True); input()"
    return json.dumps(["python3", "-c", script])


def _waiting(instance: LabInstance, agent: str) -> str:
    """Why an agent that was to be started waits, as `up` and `ps` say alike."""
    (step,) = instance.json("up", agent)["agents"]
    assert step["action"] == "pending"
    shown = ps(instance)[agent]
    assert (shown["state"], shown["pid"]) == ("pending", None)
    assert str(shown["reason"]).startswith("waits for memory")
    assert _events(instance, "agent.pending", agent)[-1]["data"]["reason"] == step["detail"]
    return str(step["detail"])


def test_who_does_not_fit_into_the_slice_of_its_team_waits_and_starts_when_there_is_room(
    lab_instance: LabInstance,
) -> None:
    lab_instance.spec(
        '[team]\nname = "shop"\nmemory_max = "256M"\n[containment]\nsystemd = "require"\n'
        "[supervision]\nmemory_headroom = 60\n"
        f'[agents.hog]\ncommand = {_holding(120)}\nready = {{ log = "^full" }}\n'
        '[agents.late]\ncommand = ["sleep", "1000"]\n'
    )
    lab_instance.corral("up", "hog")
    wait_for(lambda: ps(lab_instance)["hog"]["ready"], _SECONDS, "it holds its memory")
    assert _waiting(lab_instance, "late").endswith("of the team's limit are free, and memory_headroom is 60")
    lab_instance.corral("stop", "hog")
    _until_running(lab_instance, "late")
    assert lab_instance.json("down")["clean"] is True


@contextlib.contextmanager
def _pressure() -> Iterator[None]:
    """In this block somebody on the machine waits for memory: the kernel slows it down for wanting too much."""
    unit = "lab-pressure.service"
    wants = "held = []\nwhile len(held) < 200: held.append(b'x' * (1 << 20))\nimport time; time.sleep(1000)"
    limit = ["--property=MemoryHigh=24M", "--property=MemorySwapMax=0"]
    subprocess.run(["systemd-run", f"--unit={unit}", "--collect", *limit, "python3", "-c", wants], check=True)
    try:
        wait_for(lambda: _some_avg10() >= 20.0, _SECONDS, "the pressure shows")
        yield
    finally:
        subprocess.run(["systemctl", "stop", unit], check=True)


def _some_avg10() -> float:
    with open("/proc/pressure/memory", encoding="ascii") as file:
        return float(file.readline().split()[1].partition("=")[2])


def test_under_pressure_nobody_is_started_until_it_is_over(lab_instance: LabInstance) -> None:
    lab_instance.spec(
        '[team]\nname = "shop"\n[supervision]\nmemory_pressure = 10\n'
        '[agents.early]\ncommand = ["sleep", "1000"]\n[agents.late]\ncommand = ["sleep", "1000"]\n'
    )
    lab_instance.corral("up", "early")
    pid = pid_of(ps(lab_instance)["early"])
    with _pressure():
        reason = _waiting(lab_instance, "late")
        assert reason.startswith("waits for memory: somebody on this host waited for it ")
        assert reason.endswith(" % of the last ten seconds, and memory_pressure is 10")
        # What runs is left alone.
        assert pid_of(ps(lab_instance)["early"]) == pid
    _until_running(lab_instance, "late")
    assert lab_instance.json("down")["clean"] is True


def test_an_agent_whose_program_the_kernel_killed_for_want_of_memory_is_started_again_after_a_pause_and_told_of(
    lab_instance: LabInstance,
) -> None:
    hog = json.dumps("test -e calm && exec sleep 1000; python3 -c 'kept = bytearray(400 << 20)'; exit 4")
    lab_instance.spec(
        '[team]\nname = "shop"\n[containment]\nsystemd = "require"\n'
        f'[agents.hog]\ncommand = {hog}\nmemory_max = "60M"\n'
        'restart = { policy = "on-failure", delay = "12s", longest = "12s" }\n'
    )
    lab_instance.corral("up", check=False)
    wait_for(lambda: ps(lab_instance)["hog"]["state"] == "backoff", _SECONDS, "the kill")
    told = "exit 4 (out of memory: the kernel had killed a process of it)"
    assert str(ps(lab_instance)["hog"]["reason"]).startswith(f"{told}; it is started again in ")
    (event,) = _events(lab_instance, "agent.exited", "hog")
    assert (event["data"]["oom_kills"], event["data"]["next"]) == (1, "backoff")
    assert event["data"]["reason"] == told
    lab_instance.user.run("touch", f"{lab_instance.directory}/calm")
    _until_running(lab_instance, "hog")
    assert ps(lab_instance)["hog"]["restarts"] == 1
    assert lab_instance.json("down")["clean"] is True
