"""The host may name one slice for all agents; without it there is one warning, and agents run all the same."""

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import IDLE, corral_units, keeper_log, pid_of, ps, team, up
from tests.lab.support.units import units
from tests.lab.support.users import cgroup
from tests.support.waiting import wait_for


def _warnings(instance: LabInstance) -> list[str]:
    return [line for line in keeper_log(instance).splitlines() if "WARNING" in line]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CORRAL_AGENT_SLICE": "lab-agents.slice"}, "/lab.slice/lab-agents.slice/corral-shop-api.scope"),
        ({"GC_AGENT_SLICE": "gascity.slice"}, "/gascity.slice/corral-shop-api.scope"),
        ({"CORRAL_AGENT_SLICE": "lab.slice", "GC_AGENT_SLICE": "gascity.slice"}, "/lab.slice/corral-shop-api.scope"),
        ({"CORRAL_AGENT_SLICE": "", "GC_AGENT_SLICE": "gascity.slice"}, "/gascity.slice/corral-shop-api.scope"),
        ({"CORRAL_AGENT_SLICE": "", "GC_AGENT_SLICE": ""}, "/corral.slice/corral-shop.slice/corral-shop-api.scope"),
    ],
    ids=["ours", "alias", "ours-wins", "empty-is-unset", "both-empty"],
)
def test_agents_are_in_the_slice_that_the_environment_of_the_daemon_names(
    lab_instance: LabInstance, variables: dict[str, str], expected: str
) -> None:
    lab_instance.env = variables
    agent = up(lab_instance, team())["api"]
    assert agent["containment"] == "systemd"
    assert cgroup(pid_of(agent)).endswith(f"user@{lab_instance.user.uid}.service{expected}")
    assert _warnings(lab_instance) == []
    assert lab_instance.json("down")["clean"] is True


def test_a_team_with_limits_has_a_slice_in_the_slice_of_the_host(lab_instance: LabInstance) -> None:
    lab_instance.env = {"CORRAL_AGENT_SLICE": "lab.slice"}
    agent = up(lab_instance, team().replace('"shop"', '"shop"\ntasks_max = 100'))["api"]
    assert cgroup(pid_of(agent)).endswith("/lab.slice/lab-shop.slice/corral-shop-api.scope")
    lab_instance.corral("down")


def test_a_slice_that_was_there_before_stays(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    ann.systemctl("start", "lab-own.slice")
    try:
        lab_instance.env = {"CORRAL_AGENT_SLICE": "lab-own.slice"}
        agent = up(lab_instance, team())["api"]
        assert cgroup(pid_of(agent)).endswith("/lab-own.slice/corral-shop-api.scope")
        lab_instance.corral("down")
        assert units(ann, "slice")["lab-own.slice"].state == "active"
    finally:
        ann.systemctl("stop", "lab-own.slice", "lab.slice")


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("CORRAL_AGENT_SLICE", "no/slice", "is not the name of a slice"),
        ("GC_AGENT_SLICE", "agents", "is not the name of a slice"),
        ("CORRAL_AGENT_SLICE", "lab-masked.slice", "masked"),
        ("CORRAL_AGENT_SLICE", "lab-masked-inner.slice", "masked"),
    ],
)
def test_a_slice_that_cannot_be_had_is_one_warning_and_the_next_best_level(
    lab_instance: LabInstance, variable: str, value: str, reason: str
) -> None:
    ann = lab_instance.user
    ann.systemctl("mask", "--runtime", "lab-masked.slice")
    try:
        lab_instance.env = {variable: value}
        agents = up(lab_instance, team(api=IDLE, docs=IDLE))
        assert {agent["state"] for agent in agents.values()} == {"running"}
        assert {agent["containment"] for agent in agents.values()} <= {"cgroup", "process"}
        (warning,) = _warnings(lab_instance)
        for part in (variable, value, reason):
            assert part in warning
        assert all(reason in str(agent["containment_why"]) for agent in ps(lab_instance).values())
        lab_instance.corral("restart", "api")
        assert len(_warnings(lab_instance)) == 1, "probed once per keeper"
        assert lab_instance.json("down")["clean"] is True
        wait_for(lambda: not [name for name in corral_units(ann) if "shop" in name], what="its units went")
    finally:
        ann.systemctl("unmask", "--runtime", "lab-masked.slice")
