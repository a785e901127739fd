"""How the daemon of a shared server comes and goes: it is started by its service manager, and by nobody else."""

import os
from collections.abc import Iterator

import pytest

from tests.lab.support.people import daemon, leave, pids, rows, states, up
from tests.lab.support.shared import shared_server, system
from tests.lab.support.users import User
from tests.support.waiting import wait_for


@pytest.fixture
def server(ann: User) -> Iterator[None]:
    with shared_server(ann):
        yield


def test_it_comes_back_when_it_is_killed_and_its_runtime_directory_at_boot(server: None, ann: User) -> None:
    pid = daemon()
    os.kill(pid, 9)
    wait_for(lambda: daemon() not in (0, pid) and os.path.exists("/run/corral/daemon.sock"), what="another daemon")
    wait_for(lambda: ann.run("corral", "daemon", "status", check=False).returncode == 0, what="it answers")
    system("systemctl", "stop", "corral.service")
    system("rm", "-r", "/run/corral")
    system("systemd-tmpfiles", "--create")  # as at every boot
    system("systemctl", "start", "corral.service")
    assert ann.run("corral", "daemon", "status").returncode == 0


def test_a_stopped_daemon_is_not_started_by_a_member(server: None, ann: User) -> None:
    named = {"CORRAL_HOME": "/var/lib/corral", "CORRAL_RUNTIME_DIR": "/run/corral"}
    system("systemctl", "stop", "corral.service")
    done = ann.run("corral", "daemon", "start", env=named, check=False)
    assert done.returncode == 6
    assert "sudo systemctl start corral.service" in done.stderr


def test_one_that_is_killed_finds_every_users_agents_again(ann: User, ben: User) -> None:
    with shared_server(ann, ben):
        up(ann, "shop")
        up(ben, "mill")
        before, pid = pids(ann), daemon()
        os.kill(pid, 9)
        wait_for(lambda: daemon() not in (0, pid), what="systemd has started another")
        wait_for(lambda: ann.run("corral", "daemon", "status", check=False).returncode == 0, what="it answers")
        wait_for(lambda: set(states(ann).values()) == {"running"}, what="all are found again")
        assert pids(ann) == before
        assert {row["user"] for row in rows(ben)} == {"ann", "ben"}
        leave(ann, ben)
