"""On a machine with a kernel of its own, limits on a scope are not only set but enforced."""

import time

import pytest

from tests.lab.support.units import units
from tests.lab.support.users import User
from tests.support.waiting import wait_for

pytestmark = pytest.mark.full_machine

_SCOPE = ("systemd-run", "--user", "--scope", "--quiet", "--collect", "--unit=lab-try.scope")
_EAT = "import time; x = bytearray(200 << 20); time.sleep(1000)"
_FORK = """
import subprocess
children = []
try:
    while len(children) < 50:
        children.append(subprocess.Popen(["sleep", "1000"]))
except BlockingIOError:
    print(len(children))
for child in children:
    child.kill()
    child.wait()
"""


def test_the_controllers_are_delegated_to_a_user(ann: User) -> None:
    with open(f"/sys/fs/cgroup/user.slice/user-{ann.uid}.slice/user@{ann.uid}.service/cgroup.controllers") as file:
        assert {"cpu", "memory", "pids"} <= set(file.read().split())


def test_a_program_that_takes_too_much_memory_is_killed(ann: User) -> None:
    limit = ("--property=MemoryMax=64M", "--property=MemorySwapMax=0")
    assert ann.run(*_SCOPE, *limit, "python3", "-c", _EAT, check=False).returncode == 137
    assert ann.systemctl("is-system-running").stdout.strip() == "running"


def test_no_more_tasks_than_allowed(ann: User) -> None:
    done = ann.run(*_SCOPE, "--property=TasksMax=20", "python3", "-c", _FORK)
    assert int(done.stdout) == 19  # and the one that forks


def test_a_busy_program_gets_its_share_and_no_more(ann: User) -> None:
    with ann.start(*_SCOPE, "--property=CPUQuota=20%", "sh", "-c", "while :; do :; done") as session:
        scope = wait_for(lambda: units(ann, "scope").get("lab-try.scope"), what="the scope")
        before, began = _used(scope.cgroup), time.monotonic()
        time.sleep(5)
        share = (_used(scope.cgroup) - before) / (time.monotonic() - began)
        ann.systemctl("kill", "--signal=KILL", "lab-try.scope")
        session.wait(20)
    assert 0.05 < share < 0.3


def _used(cgroup: str) -> float:
    """The seconds of processor time that a cgroup has used."""
    with open(f"/sys/fs/cgroup{cgroup}/cpu.stat") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("usage_usec")) / 1e6
