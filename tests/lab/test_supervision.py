"""What keeps a team as it was declared, in a real account: reboots, what programs leave behind, teams left alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import environment
from tests.lab.support.boots import another_boot, boot_unit, come_up, go_down
from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import IDLE, corral_units, daemon_of, keeper_of, pid_from, pid_of, ps, team, unit_of, up
from tests.lab.support.users import cgroup
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

_CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


def _events(instance: LabInstance) -> list[dict[str, Any]]:
    return [json.loads(line) for line in instance.corral("events", "--json", "-n", "all").stdout.splitlines()]


def _stages(instance: LabInstance) -> list[str]:
    return [event["data"]["stage"] for event in _events(instance) if event["event"] == "team.unattended"]


def _population(instance: LabInstance) -> dict[str, list[int]]:
    """Every process of agents, by agent: found in /proc, and not by asking the product."""
    found: dict[str, list[int]] = {}
    for one in instance.user.processes():
        variables = environment(one.pid)
        if "CORRAL_AGENT" in variables and variables.get("CORRAL_HOME") == instance.home:
            found.setdefault(variables["CORRAL_AGENT"], []).append(one.pid)
    return found


def _states(agents: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {name: agent["state"] for name, agent in agents.items()}


def _is_frozen(pid: int) -> bool:
    """As the kernel says of the cgroup that the process is in, or of one around it."""
    path = cgroup(pid)
    events = next(file for top in _CGROUPS if (file := Path(f"{top}{path}/cgroup.events")).exists())
    return "frozen 1" in events.read_text().splitlines()


# Reboots


def test_the_unit_at_boot_brings_the_declared_team_back_once_and_is_nobody(
    lab_instance: LabInstance, own_directory: Path
) -> None:
    # Of three, one waits for a place. Two minutes alone is less than this kernel is up: that must not count.
    declared = team(
        api=IDLE,
        docs=IDLE,
        waits=IDLE,
        more='[supervision]\nmax_agents = 2\nunattended = { after = "2m", then = "stop" }\n',
    )
    before = up(lab_instance, declared)
    assert _states(before) == {"api": "running", "docs": "running", "waits": "pending"}
    with boot_unit(lab_instance) as unit:
        go_down(lab_instance)
        with another_boot(own_directory):
            come_up(lab_instance.user)
            wait_for(
                lambda: lab_instance.user.systemctl("is-active", unit, check=False).stdout == "active\n", 30, "the unit"
            )
            after = ps(lab_instance)
            assert _states(after) == _states(before)
            pids = {name: [pid_of(after[name])] for name in ("api", "docs")}
            assert _population(lab_instance) == pids
            started = [event for event in _events(lab_instance) if event["event"] == "team.up"][-1]
            assert started["who"] == {"user": "ann", "uid": lab_instance.user.uid, "agent": "service"}
            assert _stages(lab_instance) == []

            # Nothing of it is the unit's: it can be started again, and stopped.
            assert unit not in {unit_of(pid) for pid in (daemon_of(lab_instance), keeper_of(lab_instance))}
            lab_instance.user.systemctl("restart", unit)
            lab_instance.user.systemctl("stop", unit)
            assert _population(lab_instance) == pids
            assert _states(ps(lab_instance)) == _states(before)
            assert lab_instance.json("down")["clean"] is True
            lab_instance.corral("daemon", "stop")


def test_a_user_manager_that_is_restarted_takes_the_team_along_and_its_unit_brings_it_back(
    lab_instance: LabInstance,
) -> None:
    before = up(lab_instance, team(api=IDLE, docs=IDLE))
    with boot_unit(lab_instance) as unit:
        go_down(lab_instance)
        come_up(lab_instance.user)
        wait_for(
            lambda: lab_instance.user.systemctl("is-active", unit, check=False).stdout == "active\n", 30, "the unit"
        )
        after = ps(lab_instance)
        assert _states(after) == _states(before)
        assert _population(lab_instance) == {name: [pid_of(agent)] for name, agent in after.items()}
        assert lab_instance.json("down")["clean"] is True
        lab_instance.corral("daemon", "stop")


# What a program leaves behind


@pytest.mark.parametrize("restart", ["never", "on-failure"])
def test_what_outlives_a_program_stays_in_its_scope_until_somebody_ends_or_starts_the_agent(
    lab_instance: LabInstance, restart: str
) -> None:
    left = f"{lab_instance.directory}/left"
    script = f"setsid sleep 1000 & echo $! > {left}.new; mv {left}.new {left}; test -e again && exec sleep 1000; exit 3"
    declared = team(api=script, docs=IDLE).replace(
        "[agents.docs]", f'restart = {{ policy = "{restart}", delay = "4s", longest = "4s" }}\n[agents.docs]'
    )
    lab_instance.spec(declared)
    lab_instance.corral("up", check=False)
    wanted = "failed" if restart == "never" else "backoff"
    wait_for(lambda: ps(lab_instance)["api"]["state"] == wanted, what="the program has ended")
    assert ps(lab_instance)["api"]["exit_code"] == 3
    # What it left is nobody's to end unasked, and has the agent's name on it.
    child = pid_from(left)
    assert is_alive(child)
    assert unit_of(child).startswith("corral-shop-api")

    Path(lab_instance.directory, "again").touch()
    if restart == "never":
        lab_instance.corral("restart", "api")
    wait_for(lambda: ps(lab_instance)["api"]["state"] == "running", what="it runs again")
    # Before the next run begins, all of the one before is gone: there are never two of it.
    assert not is_alive(child)
    assert unit_of(pid_of(ps(lab_instance)["api"])).startswith("corral-shop-api")
    assert lab_instance.json("down")["clean"] is True
    assert not is_alive(pid_from(left))


def test_stop_and_down_end_what_a_failed_agent_left_in_its_scope(lab_instance: LabInstance) -> None:
    script = "setsid sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; exit 3"
    paths = {name: f"{lab_instance.directory}/{name}" for name in ("api", "docs")}
    lab_instance.spec(team(**{name: script.format(path) for name, path in paths.items()}))
    lab_instance.corral("up", check=False)
    wait_for(lambda: set(_states(ps(lab_instance)).values()) == {"failed"}, what="both have ended")
    pids = {name: pid_from(path) for name, path in paths.items()}
    lab_instance.corral("stop", "api")
    assert {name for name, pid in pids.items() if is_alive(pid)} == {"docs"}
    assert lab_instance.json("down")["clean"] is True
    assert not is_alive(pids["docs"])
    lab_instance.corral("daemon", "stop")
    assert corral_units(lab_instance.user) == {}


# Teams that nobody looks after


def test_a_team_that_is_alone_is_frozen_in_its_scopes_and_thaws_for_whoever_shows_up(
    lab_instance: LabInstance,
) -> None:
    agents = up(
        lab_instance,
        team(
            api="setsid sleep 1000 & exec cat",
            docs=IDLE,
            more='[supervision]\nunattended = { after = "2s", then = "pause" }\n',
        ),
    )
    pids = [pid_of(agent) for agent in agents.values()]
    wait_for(lambda: _stages(lab_instance)[-1:] == ["alone"], 30, "it is paused")
    assert _stages(lab_instance) == ["announced", "acting", "alone"]
    everyone = [pid for its in _population(lab_instance).values() for pid in its]
    assert len(everyone) == 3, "also what an agent started in a session of its own"
    assert all(_is_frozen(pid) for pid in everyone)
    assert {agent["paused"] for agent in ps(lab_instance).values()} == {True}

    lab_instance.corral("send", "api", "hello")
    assert not any(_is_frozen(pid) for pid in pids)
    assert "team.attended" in [event["event"] for event in _events(lab_instance)]
    assert [pid_of(agent) for agent in ps(lab_instance).values()] == pids

    # Frozen once more, it goes all the same, and leaves nothing.
    wait_for(lambda: all(_is_frozen(pid) for pid in pids), 30, "it is paused again")
    assert lab_instance.json("down")["clean"] is True
    assert not any(is_alive(pid) for pid in everyone)
    lab_instance.corral("daemon", "stop")
    assert corral_units(lab_instance.user) == {}
