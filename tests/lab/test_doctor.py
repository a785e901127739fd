"""What `corral doctor` says of a host with systemd: what its users lack, and what was left behind in their managers."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.lab.support.doctors import doctor, fixes, found, not_checked
from tests.lab.support.instances import LabInstance
from tests.lab.support.units import units
from tests.lab.support.unwatched import unwatched
from tests.lab.support.users import User
from tests.support.waiting import wait_for

_TEAM = """\
[team]
name = "shop"
repo = "repo"

[agents.api]
command = ["corral", "demo-agent"]
"""
#: A hung bus may cost so much, everything else included.
_PATIENCE = 10.0


@pytest.fixture
def shop(lab_instance: LabInstance) -> LabInstance:
    """An instance of ann whose team is up."""
    return _up(lab_instance)


def _up(instance: LabInstance) -> LabInstance:
    instance.repo()
    instance.spec(_TEAM)
    instance.corral("up")
    return instance


class TestTheHost:
    def test_a_user_with_linger_and_a_bus_lacks_neither(self, lab_instance: LabInstance) -> None:
        document = doctor(lab_instance)
        assert document["healthy"]
        assert {"linger", "user_bus", "cgroups"}.isdisjoint(finding["check"] for finding in document["findings"])
        assert "scopes" not in not_checked(document)

    def test_lost_linger_is_a_remark_until_a_team_is_up(
        self, instance_of: Callable[[User], LabInstance], cleo: User
    ) -> None:
        instance = instance_of(cleo)
        with cleo.start("cat") as session:
            wait_for(lambda: os.path.exists(f"{cleo.runtime_dir}/bus"), what="her manager came")
            (finding,) = found(doctor(instance), "linger")
            assert (finding["severity"], finding["ours"]) == ("warning", False)
            assert finding["remedy"] == "loginctl enable-linger"
            _up(instance)
            document = doctor(instance)
            (finding,) = found(document, "linger")
            assert "agents that are up" in finding["message"]
            assert not document["healthy"]
            instance.corral("down")
            instance.corral("daemon", "stop")
            session.communicate()

    def test_no_user_bus_is_told_of_and_scopes_are_not_guessed_at(self, cleo: User) -> None:
        """She is not logged in and does not linger: there is no manager to be asked."""
        document = json.loads(cleo.bare("corral", "doctor", "--json").stdout)
        (finding,) = found(document, "user_bus")
        assert (finding["severity"], finding["subject"]) == ("warning", "cleo")
        assert "no user bus" in not_checked(document)["scopes"]
        assert document["healthy"]

    def test_a_manager_that_hangs_does_not_hang_the_doctor(self, lab_instance: LabInstance, ann: User) -> None:
        with _stopped(_manager(ann)):
            began = time.monotonic()
            # No log-in: that would wait for the manager as well.
            document = json.loads(ann.bare("corral", "doctor", "--json").stdout)
            assert time.monotonic() - began < _PATIENCE
        assert "did not answer within" in not_checked(document)["scopes"]
        assert document["healthy"]
        assert "scopes" not in not_checked(doctor(lab_instance))

    def test_the_controllers_that_are_missing_are_those_that_the_user_was_not_given(
        self, lab_instance: LabInstance, ann: User
    ) -> None:
        delegated = f"/user.slice/user-{ann.uid}.slice/user@{ann.uid}.service"
        with open(f"/sys/fs/cgroup{delegated}/cgroup.controllers") as file:
            given = file.read().split()
        missing = [name for name in ("cpu", "memory", "pids") if name not in given]
        document = doctor(lab_instance)
        assert [(one["path"], one["missing"]) for one in found(document, "controllers")] == (
            [(delegated, missing)] if missing else []
        )
        assert "controllers" not in not_checked(document)


class TestContainment:
    def test_agents_in_scopes_have_the_best_level(self, shop: LabInstance) -> None:
        (finding,) = found(doctor(shop), "containment")
        assert (finding["level"], finding["agents"], finding["why"]) == ("systemd", ["shop/api"], "")

    def test_of_others_it_is_said_why_they_have_no_better_one(self, lab_instance: LabInstance) -> None:
        lab_instance.repo()
        lab_instance.spec(_TEAM + '\n[containment]\nsystemd = "off"\n')
        lab_instance.corral("up")
        (agent,) = lab_instance.json("ps")
        for _ in ("from the daemon", "from the store"):
            (finding,) = found(doctor(lab_instance), "containment")
            assert (finding["level"], finding["why"]) == (agent["containment"], "[containment] systemd is off")
            lab_instance.corral("daemon", "stop")
        lab_instance.corral("daemon", "start")

    def test_so_it_is_where_there_is_no_bus(self, lab_instance: LabInstance, ann: User) -> None:
        lab_instance.env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={ann.runtime_dir}/nowhere"
        _up(lab_instance)
        (finding,) = found(doctor(lab_instance), "containment")
        assert finding["level"] != "systemd"
        assert "nowhere cannot be reached" in finding["why"]


class TestScopes:
    def test_one_of_ours_that_is_empty_yet_active_is_stopped(self, shop: LabInstance, ann: User) -> None:
        name = "corral-shop-old.scope"
        description = f"Corral agent shop/old (instance {shop.json('daemon', 'status')['instance']})"
        with unwatched(ann):
            ann.run("systemd-run", "--user", "--scope", f"--unit={name}", f"--description={description}", "true")
        document = doctor(shop)
        (finding,) = found(document, "scopes", severity="warning")
        assert (finding["unit"], finding["ours"], finding["fixable"]) == (name, True, True)
        assert not document["healthy"]
        assert name in units(ann, "scope")
        document = doctor(shop, "--fix")
        assert found(document, "scopes", unit=name, fixed=True)
        assert document["healthy"]
        assert name not in units(ann, "scope")
        (event,) = fixes(shop)
        assert (event["team"], event["agent"], event["data"]["subject"]) == ("shop", "old", name)

    def test_those_of_agents_are_shown_with_their_processes_and_left_alone(self, shop: LabInstance) -> None:
        (agent,) = shop.json("ps")
        (finding,) = found(doctor(shop, "--fix"), "scopes", unit="corral-shop-api.scope")
        assert (finding["severity"], finding["ours"], finding["fixable"]) == ("ok", True, False)
        assert agent["pid"] in [process["pid"] for process in finding["processes"]]
        assert fixes(shop) == []


class TestWhatIsLeft:
    def test_orphans_are_ended_wherever_systemd_put_them(self, shop: LabInstance, ann: User) -> None:
        marks = {**_marks(shop.json("ps")[0]["pid"]), "CORRAL_RUN": "0123456789ab"}
        ann.run("sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 &", env=marks)
        ann.run("sh", "-c", "systemd-run --user --scope --quiet --collect sleep 1002 >/dev/null 2>&1 &", env=marks)
        (finding,) = wait_for(lambda: _two_orphans(doctor(shop)), what="both are there")
        assert (finding["subject"], finding["fixable"]) == ("shop/api", True)
        assert found(doctor(shop, "--fix"), "orphans", fixed=True)
        assert found(doctor(shop), "orphans") == []
        assert not any("sleep 100" in one.describe() for one in ann.processes())

    def test_a_session_of_no_agent_is_ended(self, shop: LabInstance, ann: User) -> None:
        launch = os.path.join(shop.runtime, "launch", "shop", "nobody.0123456789ab")
        ann.run("sh", "-c", 'echo "sleep 1001; :" >"$0"', launch)
        socket = os.path.join(shop.runtime, "tmux", "shop.sock")
        ann.bare("tmux", "-N", "-S", socket, "new-session", "-d", "-s", "nobody", "/bin/sh", launch)
        (finding,) = wait_for(lambda: found(doctor(shop), "stray_sessions"), what="the terminal is seen")
        assert finding["subject"] == "shop/nobody"
        assert found(doctor(shop, "--fix"), "stray_sessions", fixed=True)
        assert [agent["state"] for agent in shop.json("ps")] == ["running"]


def _two_orphans(document: dict[str, object]) -> list[dict[str, object]]:
    return [finding for finding in found(document, "orphans") if str(finding["processes"]).count("sleep 100") == 2]


def _marks(pid: int) -> dict[str, str]:
    """What makes a process one of an agent's."""
    with open(f"/proc/{pid}/environ", "rb") as file:
        pairs = dict(entry.partition("=")[::2] for entry in os.fsdecode(file.read()).split("\0"))
    return {name: value for name, value in pairs.items() if name.startswith("CORRAL_")}


def _manager(user: User) -> int:
    unit = f"user@{user.uid}.service"
    argv = ["systemctl", "show", "--property=MainPID", "--value", unit]
    return int(subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout)


@contextlib.contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """A process that does not run in this block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
