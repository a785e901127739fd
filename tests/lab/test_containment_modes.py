"""`[containment] systemd` decides whether systemd is used, must be used, or is left alone."""

import os
import subprocess
from collections.abc import Callable

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import IDLE, corral_units, keeper_of, pid_from, pid_of, ps, server_of, team, unit_of, up
from tests.lab.support.units import units
from tests.lab.support.users import User
from tests.support.processes import is_alive, process
from tests.support.waiting import wait_for

_REQUIRE = '[containment]\nsystemd = "require"\n'
_OFF = '[containment]\nsystemd = "off"\n'
#: Without a marker, and no child of anybody: at this level only its scope can give it away.
_FUGITIVE = r"""
(env -i /usr/bin/setsid /bin/sh -c 'echo $$ >bare; trap "" TERM HUP; while :; do /bin/sleep 1003; done' \
  </dev/null >/dev/null 2>&1 &)
exec sleep 1000
"""


def test_require_is_kept_where_systemd_is_there(lab_instance: LabInstance) -> None:
    assert up(lab_instance, team(more=_REQUIRE))["api"]["containment"] == "systemd"
    lab_instance.corral("down")


@pytest.mark.parametrize(
    "environment",
    [
        {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"},
        {"DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "/nowhere"},
    ],
    ids=["no-bus", "no-runtime-directory"],
)
def test_require_without_a_user_manager_refuses_and_starts_nothing(
    lab_instance: LabInstance, environment: dict[str, str]
) -> None:
    lab_instance.env = environment
    lab_instance.spec(team(more=_REQUIRE))
    code, error = lab_instance.error("up")
    assert code != 0
    for part in ("requires systemd", "user bus"):
        assert part in error["message"]
    assert "sleep 1000" not in lab_instance.user.bare("ps", "-u", "ann", "-o", "args").stdout
    assert not os.path.exists(f"{lab_instance.runtime}/tmux/shop.sock")


def test_auto_without_a_user_manager_takes_the_next_best_and_says_why(lab_instance: LabInstance) -> None:
    lab_instance.env = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}
    agent = up(lab_instance, team())["api"]
    assert agent["state"] == "running"
    assert agent["containment"] in ("cgroup", "process")
    assert "user bus" in str(agent["containment_why"])
    assert lab_instance.json("down")["clean"] is True


def test_somebody_without_linger_and_without_a_session_has_no_manager(
    instance_of: Callable[[User], LabInstance], cleo: User
) -> None:
    """Her manager goes with her session; what she starts then is told so."""
    instance = instance_of(cleo)
    instance.spec(team(more=_REQUIRE))
    command = ["setpriv", f"--reuid={cleo.uid}", f"--regid={cleo.uid}", "--clear-groups", "env", "-i"]
    variables = {**instance.environment(), "PATH": os.environ["PATH"], "HOME": cleo.home}
    pairs = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        [*command, *pairs, "corral", "up"],
        cwd=instance.directory, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "there is no user bus" in done.stderr, done.stderr
    subprocess.run([*command, *pairs, "corral", "daemon", "stop"], capture_output=True, timeout=60, check=True)


def test_off_leaves_panes_where_tmux_puts_them_and_down_still_leaves_nothing(
    lab_instance: LabInstance, ann: User
) -> None:
    own_socket = f"{ann.runtime_dir}/lab-own"
    ann.run("tmux", "-S", own_socket, "-f", "/dev/null", "new-session", "-d", "sleep 2000")
    try:
        own_pane = int(ann.bare("tmux", "-N", "-S", own_socket, "display", "-p", "#{pane_pid}").stdout)
        agents = up(lab_instance, team(more=_OFF, api=_FUGITIVE, docs=IDLE))
        assert {agent["containment"] for agent in agents.values()} == {"process"}
        assert "off" in str(agents["api"]["containment_why"])
        fugitive = pid_from(f"{lab_instance.directory}/bare")
        # tmux 3.5 moves the first process of a pane, which may have started others by then: they stay with the server.
        panes = [one.parent for agent in agents.values() if (one := process(pid_of(agent)))]
        assert all(unit_of(pane).startswith("tmux-spawn-") for pane in panes)
        assert unit_of(server_of(lab_instance)) != unit_of(keeper_of(lab_instance))
        assert not [name for name in corral_units(ann) if name.startswith("corral-shop")]

        receipt = lab_instance.json("down", "--grace", "1")
        assert receipt["clean"] is True, receipt
        assert "units" in {check["what"] for check in receipt["checks"]}
        assert not is_alive(fugitive)
        spawned = {name for name in units(ann, "scope") if name.startswith("tmux-spawn-")}
        assert spawned == {unit_of(own_pane)}, "those of a person's own tmux are not touched"
        assert is_alive(own_pane)
    finally:
        ann.run("tmux", "-N", "-S", own_socket, "kill-server")
        wait_for(lambda: not is_alive(own_pane), what="her pane went")
        os.unlink(own_socket)


def test_off_ends_one_agent_with_all_that_it_started(lab_instance: LabInstance) -> None:
    script = "(setsid sh -c 'echo $$ >forked; trap \"\" TERM HUP; while :; do sleep 1; done' &) ; exec sleep 1000"
    agents = up(lab_instance, team(more=_OFF, api=script, docs=IDLE))
    fugitive = pid_from(f"{lab_instance.directory}/forked")
    lab_instance.corral("stop", "api", "--grace", "1")
    assert not is_alive(fugitive)
    assert is_alive(pid_of(agents["docs"]))
    assert ps(lab_instance)["docs"]["state"] == "running"
    assert lab_instance.json("down")["clean"] is True
