"""The machine is what the other tests take it for."""

import os
import subprocess

import pytest

from tests.lab.support.units import units
from tests.lab.support.users import EVERYONE, User, cgroup
from tests.support.waiting import wait_for


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True).stdout.strip()


def test_the_machine_has_booted_and_nothing_failed() -> None:
    assert _output("systemctl", "is-system-running", "--wait") == "running"
    assert _output("systemctl", "list-units", "--failed", "--no-legend") == ""


def test_it_has_nothing_but_cgroup_v2_and_can_make_delegated_groups(ann: User) -> None:
    assert _output("stat", "--file-system", "--format=%T", "/sys/fs/cgroup") == "cgroup2fs"
    delegated = f"/sys/fs/cgroup/user.slice/user-{ann.uid}.slice/user@{ann.uid}.service"
    assert os.stat(delegated).st_uid == ann.uid
    assert os.path.exists(os.path.join(delegated, "cgroup.kill"))


def test_it_reaches_nobody_outside() -> None:
    assert os.listdir("/sys/class/net") == ["lo"]
    assert _output("ip", "route", "show", "table", "all", "default") == ""


def test_the_source_is_here_and_everybody_has_the_command(ann: User, cleo: User) -> None:
    assert os.path.exists("/corral/src/corral/__init__.py")
    for user in (User("root"), ann, cleo):
        assert user.run("corral", "--version").stdout.startswith("corral ")


@pytest.mark.parametrize("user", [user for user in EVERYONE if user.lingers], ids=lambda user: user.name)
def test_the_manager_of_a_lingering_user_answers_on_the_bus(user: User) -> None:
    answer = user.bare(
        "busctl", "--user", "get-property", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
        "org.freedesktop.systemd1.Manager", "Version",
    )  # fmt: skip
    assert answer.stdout.startswith('s "257')
    assert user.systemctl("is-system-running", "--wait").stdout.strip() == "running"


def test_a_log_in_gives_a_session_with_a_scope_and_the_way_to_the_manager(ann: User) -> None:
    said = ann.run("sh", "-c", "cat /proc/self/cgroup; env; systemctl --user is-active default.target").stdout
    assert f"0::/user.slice/user-{ann.uid}.slice/session-" in said
    assert f"XDG_RUNTIME_DIR={ann.runtime_dir}" in said
    assert f"DBUS_SESSION_BUS_ADDRESS=unix:path={ann.runtime_dir}/bus" in said
    assert "CORRAL_LAB_INSIDE" not in said
    assert said.endswith("active\n")


def test_the_manager_of_a_user_without_linger_comes_and_goes_with_the_session(cleo: User) -> None:
    assert cleo.processes() == []
    assert cleo.run("systemctl", "--user", "is-system-running", "--wait").stdout.strip() == "running"
    wait_for(lambda: not cleo.processes(), 10, "her manager went")
    wait_for(lambda: not os.path.exists(cleo.runtime_dir), 10, "her runtime directory went")


def test_a_scope_can_be_made_frozen_and_killed(ann: User) -> None:
    command = ["systemd-run", "--user", "--scope", "--quiet", "--collect", "--unit=lab-try.scope", "sleep", "1000"]
    with ann.start(*command) as session:
        scope = wait_for(lambda: units(ann, "scope").get("lab-try.scope"), what="the scope")
        directory = f"/sys/fs/cgroup{scope.cgroup}"
        ann.systemctl("freeze", "lab-try.scope")
        with open(f"{directory}/cgroup.events") as file:
            assert "frozen 1" in file.read()
        ann.systemctl("thaw", "lab-try.scope")
        ann.systemctl("kill", "--signal=KILL", "lab-try.scope")
        assert session.wait(10) != 0
    wait_for(lambda: not os.path.exists(directory), what="the cgroup went")


def test_tmux_puts_a_plain_pane_into_a_scope_of_its_own(ann: User, own_directory: os.PathLike[str]) -> None:
    version = ann.run("tmux", "-V").stdout.split()[1]
    assert tuple(int("".join(filter(str.isdigit, part))) for part in version.split(".")) >= (3, 5)
    socket = f"{ann.runtime_dir}/lab-try"
    ann.run("tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "sleep 1000")
    try:
        server, pane = ann.run("tmux", "-N", "-S", socket, "display", "-p", "#{pid} #{pane_pid}").stdout.split()
        wait_for(lambda: "/tmux-spawn-" in cgroup(int(pane)), what="tmux moved the pane")
        assert "/session-" in cgroup(int(server))
        names = [name for name in units(ann, "scope") if name.startswith("tmux-spawn-")]
        assert [name for name in names if name in cgroup(int(pane))]
    finally:
        ann.run("tmux", "-N", "-S", socket, "kill-server")
        wait_for(lambda: not os.path.exists(f"/proc/{server}"), what="the server went")
        os.unlink(socket)  # tmux leaves it
