"""Limits are set on scope and slice, changed while the agent runs, and said to be idle where nothing enforces them."""

import json
from typing import Any

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import pid_of, ps, team, up
from tests.lab.support.users import User

_LIMITED = """\
[team]
name = "shop"
memory_max = "2G"
tasks_max = 500

[defaults]
cpu_weight = 50

[agents.api]
command = ["sleep", "1000"]
cpu_quota = "150%"
memory_high = "256M"
memory_max = "512M"
tasks_max = 100
io_weight = 20
"""
_NAMES = ("CPUWeight", "CPUQuotaPerSecUSec", "MemoryHigh", "MemoryMax", "TasksMax", "IOWeight")
_ABSENT = {"[not set]", "infinity"}


def _shown(user: User, unit: str) -> dict[str, str]:
    lines = user.systemctl("show", f"--property={','.join(_NAMES)}", unit).stdout.splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines) if value not in _ABSENT}


def test_limits_are_properties_of_scope_and_slice_and_change_without_a_restart(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    before = pid_of(up(lab_instance, _LIMITED)["api"])
    assert _shown(ann, "corral-shop-api.scope") == {
        "CPUWeight": "50",
        "CPUQuotaPerSecUSec": "1.500000s",
        "MemoryHigh": str(256 << 20),
        "MemoryMax": str(512 << 20),
        "TasksMax": "100",
        "IOWeight": "20",
    }
    assert _shown(ann, "corral-shop.slice") == {"MemoryMax": str(2 << 30), "TasksMax": "500"}

    changed = _LIMITED.replace('"512M"', '"1G"').replace('cpu_quota = "150%"\n', "").replace("tasks_max = 500\n", "")
    assert pid_of(up(lab_instance, changed)["api"]) == before
    assert _shown(ann, "corral-shop-api.scope") == {
        "CPUWeight": "50",
        "MemoryHigh": str(256 << 20),
        "MemoryMax": str(1 << 30),
        "TasksMax": "100",
        "IOWeight": "20",
    }
    assert _shown(ann, "corral-shop.slice") == {"MemoryMax": str(2 << 30)}
    assert lab_instance.json("down")["clean"] is True


def test_a_limit_that_no_controller_enforces_is_told(lab_instance: LabInstance) -> None:
    """A user's manager is not given the io controller, here or elsewhere."""
    up(lab_instance, _LIMITED)
    told = [event["data"]["reason"] for event in _events(lab_instance) if event["event"] == "agent.degraded"]
    assert "api: io_weight is not enforced: the io controller is missing" in told, told
    assert ps(lab_instance)["api"]["state"] == "running"
    lab_instance.corral("down")


def _events(instance: LabInstance) -> list[Any]:
    return [json.loads(line) for line in instance.corral("events", "--json").stdout.splitlines()]


def test_a_team_without_limits_has_none(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    up(lab_instance, team())
    assert {name for name in _shown(ann, "corral-shop.slice") if name != "TasksMax"} == set()
    assert not [event for event in _events(lab_instance) if event["event"] == "agent.degraded"]
    lab_instance.corral("down")
