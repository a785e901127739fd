"""`[containment] systemd` decides whether systemd is used, must be used, or is left alone."""

import os
import signal
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
        assert {one["containment"] for one in lab_instance.json("stats")} == {"process"}, "the team's line too"
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


@pytest.mark.parametrize("more", ["", _OFF], ids=["auto", "off"])
def test_a_pane_of_a_persons_own_tmux_stays_though_something_marked_as_ours_runs_in_it(
    lab_instance: LabInstance, ann: User, more: str
) -> None:
    """The scope of the pane names the server that made it, and that is hers. What carries our marker is ended alone."""
    up(lab_instance, team(more=more))
    marks = {"CORRAL_INSTANCE": _marker(server_of(lab_instance), "CORRAL_INSTANCE"), "CORRAL_TEAM": "shop"}
    marked = " ".join(f"{name}={value}" for name, value in marks.items())
    directory = f"{ann.runtime_dir}/lab-pane"
    ann.bare("mkdir", directory)
    own_socket = f"{directory}/sock"
    # Only what a pane starts after a moment is in its scope for certain: tmux moves its first process.
    script = (
        f"sleep 1; sleep 2001 & echo $! >{directory}/plain; "
        f"env {marked} sleep 2002 & echo $! >{directory}/marked; echo $$ >{directory}/shell; sleep 2003"
    )
    ann.run("tmux", "-S", own_socket, "-f", "/dev/null", "new-session", "-d", script)
    try:
        shell, plain, ours = (pid_from(f"{directory}/{name}") for name in ("shell", "plain", "marked"))
        scope = unit_of(shell)
        assert scope.startswith("tmux-spawn-")
        assert unit_of(plain) == unit_of(ours) == scope

        lab_instance.corral("stop", "api", "--grace", "1")
        assert all(map(is_alive, (shell, plain, ours)))
        receipt = lab_instance.json("down", "--grace", "1")
        assert receipt["clean"] is True, receipt
        assert not is_alive(ours)
        assert is_alive(shell)
        assert is_alive(plain)
        assert scope in units(ann, "scope")
    finally:
        ann.run("tmux", "-N", "-S", own_socket, "kill-server")
        wait_for(lambda: not is_alive(shell) and not is_alive(plain), what="her pane went")
        ann.bare("rm", "-r", directory)


def test_a_persons_server_that_carries_our_marker_is_not_the_teams(lab_instance: LabInstance, ann: User) -> None:
    """It never was bound to the team's socket. The receipt names it, and its pane stays in its scope."""
    up(lab_instance, team(more=_OFF))
    own_socket = f"{ann.runtime_dir}/lab-own"
    instance = _marker(server_of(lab_instance), "CORRAL_INSTANCE")
    # The server alone is marked; the pane has cleared it, and is no child that the marker would give away.
    pane = f"exec env -i /usr/bin/setsid -w /bin/sh -c 'echo $$ >{lab_instance.directory}/pane; sleep 2004; :'"
    ann.run(
        "env", f"CORRAL_INSTANCE={instance}", "CORRAL_TEAM=shop",
        "tmux", "-S", own_socket, "-f", "/dev/null", "new-session", "-d", pane,
    )  # fmt: skip
    inside = pid_from(f"{lab_instance.directory}/pane")
    scope = unit_of(inside)
    try:
        receipt = lab_instance.json("down", "--grace", "1", check=False)
        units_check = next(check for check in receipt["checks"] if check["what"] == "units")
        assert scope not in {residue["name"] for residue in units_check["residue"]}
    finally:
        ann.run("tmux", "-N", "-S", own_socket, "kill-server", check=False)
        wait_for(lambda: not is_alive(inside), what="her pane went")
        if os.path.exists(own_socket):
            os.unlink(own_socket)
        lab_instance.corral("down", "--grace", "1", check=False)


def test_what_a_server_that_was_killed_left_in_its_scopes_still_goes(lab_instance: LabInstance) -> None:
    up(lab_instance, team(more=_OFF))
    sock = f"{lab_instance.runtime}/tmux/shop.sock"
    script = f"cd {lab_instance.directory}; sleep 1; {_FUGITIVE}"
    lab_instance.user.bare("tmux", "-N", "-S", sock, "new-window", "-d", "-t", "=api:", script)
    fugitive = pid_from(f"{lab_instance.directory}/bare")
    assert unit_of(fugitive).startswith("tmux-spawn-")
    os.kill(server_of(lab_instance), signal.SIGKILL)
    receipt = lab_instance.json("down", "--grace", "1")
    assert receipt["clean"] is True, receipt
    assert not is_alive(fugitive)


def _marker(pid: int, name: str) -> str:
    with open(f"/proc/{pid}/environ") as file:
        return dict(entry.partition("=")[::2] for entry in file.read().split("\0"))[name]


def test_off_ends_one_agent_with_all_that_it_started(lab_instance: LabInstance) -> None:
    script = "(setsid sh -c 'echo $$ >forked; trap \"\" TERM HUP; while :; do sleep 1; done' &) ; exec sleep 1000"
    agents = up(lab_instance, team(more=_OFF, api=script, docs=IDLE))
    fugitive = pid_from(f"{lab_instance.directory}/forked")
    lab_instance.corral("stop", "api", "--grace", "1")
    assert not is_alive(fugitive)
    assert is_alive(pid_of(agents["docs"]))
    assert ps(lab_instance)["docs"]["state"] == "running"
    assert lab_instance.json("down")["clean"] is True
