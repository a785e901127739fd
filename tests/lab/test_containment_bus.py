"""A bus, or a manager, that does not answer never hangs anything: before the start, on the way, and at the end."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import IDLE, keeper_log, keeper_of, pid_from, pid_of, ps, team, unit_of, up
from tests.lab.support.users import User
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

#: Corral waits for the bus 5 seconds, once. The rest is what a command takes on a busy machine.
_UP_SECONDS = 5 + 6
_DOWN_SECONDS = 5 + 3 * 1.0 + 6

#: One that only its cgroup gives away.
_FUGITIVE = """
(env -i /usr/bin/setsid /bin/sh -c 'echo $$ >bare; exec /bin/sleep 1003' </dev/null >/dev/null 2>&1 &)
exec sleep 1000
"""


def _service_pid(user: User, unit: str) -> int:
    return int(user.systemctl("show", "--property=MainPID", "--value", unit).stdout)


def _manager_pid(user: User) -> int:
    (pid,) = [one.pid for one in user.processes() if one.name == "systemd"]
    return pid


@contextmanager
def _stopped(pid: int) -> Iterator[Callable[[], None]]:
    """A process that stands still, until the end or until what is given is called."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield lambda: os.kill(pid, signal.SIGCONT)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_bus_that_never_answers_costs_five_seconds_once(lab_instance: LabInstance) -> None:
    path = f"{lab_instance.directory}/silent"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(path)
        os.chmod(path, 0o777)
        silent.listen(100)
        lab_instance.env = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={path}"}
        began = time.monotonic()
        agent = up(lab_instance, team())["api"]
        assert time.monotonic() - began < _UP_SECONDS
        assert agent["state"] == "running"
        assert agent["containment"] in ("cgroup", "process")
        assert "did not answer within 5 s" in str(agent["containment_why"])
        began = time.monotonic()
        lab_instance.corral("restart", "api")
        receipt = lab_instance.json("down")
        assert time.monotonic() - began < 5, "it is not asked again"
        assert receipt["clean"] is True
        lab_instance.corral("daemon", "stop")
    os.unlink(path)


def test_a_manager_that_stops_answering_hangs_nothing_and_down_still_ends_everything(
    lab_instance: LabInstance,
) -> None:
    """Also what cleared its environment: cgroups are found without systemd."""
    ann = lab_instance.user
    up(lab_instance, team(api=_FUGITIVE, docs=IDLE, web=IDLE))
    fugitive = pid_from(f"{lab_instance.directory}/bare")
    text = team(api=_FUGITIVE, docs=IDLE, web=IDLE, late=IDLE)
    with _stopped(_manager_pid(ann)):
        began = time.monotonic()
        assert set(ps(lab_instance)) == {"api", "docs", "web"}
        assert time.monotonic() - began < 5
        began = time.monotonic()
        lab_instance.corral("stop", "docs")
        assert time.monotonic() - began < _DOWN_SECONDS
        began = time.monotonic()
        late = up(lab_instance, text)["late"]
        assert time.monotonic() - began < _UP_SECONDS
        assert (late["state"], late["containment"]) == ("running", "process")
        assert "systemd did not answer" in str(late["containment_why"])
        began = time.monotonic()
        code, receipt = _down(lab_instance)
        assert time.monotonic() - began < _DOWN_SECONDS
        assert not is_alive(fugitive)
        # Nobody can tell which units are left: that is not clean, and it is said.
        assert code == 5
        (units,) = [check for check in receipt["checks"] if check["what"] == "units"]
        assert "cannot be checked" in units["residue"][0]["why"]
        (left,) = [check for check in receipt["checks"] if check["what"] == "processes"]
        assert left["found"] == 0
    assert lab_instance.json("down")["clean"] is True


def _corral(instance: LabInstance, *arguments: str) -> subprocess.Popen[str]:
    return instance.user.start("corral", *arguments, cwd=instance.directory, env=instance.environment())


def _down(instance: LabInstance) -> tuple[int, Any]:
    done = instance.corral("down", "--json", check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_bus_that_is_lost_and_comes_back_is_used_again(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    before = up(lab_instance, team(api=IDLE))["api"]
    bus = _service_pid(ann, "dbus.service")
    os.kill(bus, signal.SIGKILL)
    ann.systemctl("restart", "dbus.service")
    assert ps(lab_instance)["api"]["pid"] == before["pid"]
    both = up(lab_instance, team(api=IDLE, docs=IDLE))
    assert both["docs"]["containment"] == "systemd"
    assert unit_of(pid_of(both["docs"])) == "corral-shop-docs.scope"
    assert lab_instance.json("down")["clean"] is True


def test_a_manager_that_is_reloaded_or_started_anew_changes_nothing(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    before = up(lab_instance, team(api=_FUGITIVE, docs=IDLE))
    fugitive = pid_from(f"{lab_instance.directory}/bare")
    for verb in ("daemon-reload", "daemon-reexec"):
        ann.systemctl(verb)
        assert {name: agent["pid"] for name, agent in ps(lab_instance).items()} == {
            name: agent["pid"] for name, agent in before.items()
        }
        assert unit_of(fugitive) == unit_of(pid_of(before["api"])) == "corral-shop-api.scope"
        lab_instance.corral("restart", "docs")
        before = ps(lab_instance)
        assert unit_of(pid_of(before["docs"])) == "corral-shop-docs.scope"
    assert lab_instance.json("down")["clean"] is True
    assert not is_alive(fugitive)
    assert "WARNING" not in keeper_log(lab_instance)


def test_a_keeper_that_is_killed_while_agents_wait_to_be_let_go_is_followed_by_one_that_lets_them(
    lab_instance: LabInstance,
) -> None:
    """The manager is stopped, so agents wait at their gates. Neither is lost, nor started twice, nor left outside."""
    ann = lab_instance.user
    up(lab_instance, team(api=IDLE))
    script = "echo $$ >>started; exec sleep 1000"
    lab_instance.spec(team(api=IDLE, late=script, later=script))
    launch = f"{lab_instance.runtime}/launch/shop"
    with _stopped(_manager_pid(ann)) as go_on, _corral(lab_instance, "up") as session:
        wait_for(lambda: len([name for name in os.listdir(launch) if name.endswith(".gate")]) == 2, what="both wait")
        os.kill(keeper_of(lab_instance), signal.SIGKILL)
        go_on()
        session.communicate(timeout=60)
    agents = ps(lab_instance)
    assert {name: agent["state"] for name, agent in agents.items()} == dict.fromkeys(agents, "running")
    assert {unit_of(pid_of(agent)) for agent in agents.values()} == {
        "corral-shop-api.scope", "corral-shop-late.scope", "corral-shop-later.scope"
    }  # fmt: skip
    with open(f"{lab_instance.directory}/started") as file:
        assert len(file.readlines()) == 2
    assert not [name for name in os.listdir(launch) if name.endswith(".gate")]
    assert lab_instance.json("down")["clean"] is True
