"""Who is behind a connection: only a process that was there then, with all that it descends from."""

import os
import select
import subprocess
import time
from collections.abc import Mapping

import pytest

from corral.adapters.cgroup import askers

INSTANCE = "a1b2c3d4"


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def asleep(environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], env={**os.environ, **(environment or {})})


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(10)


def test_a_process_is_seen_with_all_that_it_descends_from() -> None:
    process = asleep()
    try:
        behind = askers.behind(process.pid, now(), INSTANCE)
        assert behind is not None
        assert {process.pid, os.getpid(), os.getppid()} <= behind.pids
        assert behind.ours == ""
    finally:
        end(process)


def test_a_process_that_started_after_the_connection_only_has_the_pid_of_the_one_that_made_it() -> None:
    connected = now() - 1
    process = asleep()
    try:
        assert askers.behind(process.pid, now(), INSTANCE) is not None
        assert askers.behind(process.pid, connected, INSTANCE) is None
    finally:
        end(process)


def test_what_has_ended_cannot_be_told_whether_or_not_somebody_has_noticed() -> None:
    process = asleep()
    itself = os.pidfd_open(process.pid)
    try:
        process.kill()
        assert select.select([itself], [], [], 10)[0]
        assert askers.behind(process.pid, now(), INSTANCE) is None, "a zombie"
    finally:
        os.close(itself)
        end(process)
    assert askers.behind(process.pid, now(), INSTANCE) is None
    assert askers.behind(0, now(), INSTANCE) is None, "what the kernel says of a process in another namespace"


def test_what_descends_from_something_of_the_instance_is_told() -> None:
    shell = subprocess.Popen(
        ["sh", "-c", "env -i sh -c 'echo $$; exec sleep 60' & wait"],
        env={**os.environ, "CORRAL_INSTANCE": INSTANCE},
        stdout=subprocess.PIPE,
    )
    assert shell.stdout is not None
    below = int(shell.stdout.readline())
    try:
        behind = askers.behind(below, now(), INSTANCE)
        assert behind is not None
        assert behind.ours == f"sh, process {shell.pid}"
        other = askers.behind(below, now(), "another")
        assert other is not None
        assert other.ours == "", "an instance of its own is another matter"
    finally:
        os.kill(below, 9)
        end(shell)
        shell.stdout.close()


@pytest.mark.parametrize(
    ("cgroup", "own"),
    [
        ("/user.slice/user-1000.slice/user@1000.service/corral.slice/corral.keeper.a1b2c3.scope", True),
        ("/user.slice/corral.slice/corral.tmux-shop.a1b2c3.4711.scope", True),
        ("/corral.slice/corral-shop.slice/corral-shop-api.a1b2c3.scope", True),
        ("/init.scope/corral-a1b2c3d4/_keeper", True),
        ("/init.scope/corral-a1b2c3d4/shop/api/p1", True),
        ("/user.slice/corral.slice/corral.keeper.ffffff.scope", False),
        ("/user.slice/user-1000.slice/session-3.scope", False),
        ("/", False),
        ("", False),
    ],
)
def test_a_place_of_this_instance_is_known_by_its_name(cgroup: str, own: bool) -> None:
    assert askers.is_own_place(cgroup, INSTANCE) is own
