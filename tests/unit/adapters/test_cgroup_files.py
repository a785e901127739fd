"""Limits and usage as the small files of a cgroup hold them; plain files stand in for the kernel's."""

from pathlib import Path

import pytest

from corral.adapters.cgroup import limits as limit_files
from corral.adapters.cgroup import usage as usage_files
from corral.adapters.cgroup.tree import Cgroup
from corral.domain.limits import LIMIT_NAMES, Limits
from corral.ports.usage import Pressure

ALL = Limits(cpu_weight=200, cpu_quota=150, memory_high=1 << 20, memory_max=1 << 21, tasks_max=64, io_weight=50)
LIMIT_FILES = {
    "cpu.weight": "200",
    "cpu.max": "150000 100000",
    "memory.high": "1048576",
    "memory.max": "2097152",
    "pids.max": "64",
    "io.weight": "default 50",
}
USUAL = {
    "cpu.weight": "100",
    "cpu.max": "max 100000",
    "memory.high": "max",
    "memory.max": "max",
    "pids.max": "max",
    "io.weight": "default 100",
}


@pytest.fixture
def group(tmp_path: Path) -> Cgroup:
    return Cgroup(name="/c/shop/api", path=str(tmp_path))


def put(group: Cgroup, **files: str) -> None:
    for name, text in files.items():
        Path(group.path, name).write_text(text)


def test_every_limit_has_a_file() -> None:
    assert [setting.limit for setting in limit_files.settings(ALL)] == list(LIMIT_NAMES)
    assert {setting.file: setting.text for setting in limit_files.settings(ALL)} == LIMIT_FILES
    assert {setting.controller for setting in limit_files.settings(ALL)} == set(limit_files.CONTROLLERS)


def test_what_is_not_set_goes_back_to_the_usual() -> None:
    assert {setting.file: setting.text for setting in limit_files.settings(Limits())} == USUAL
    assert all(setting.usual for setting in limit_files.settings(Limits()))


def test_a_missing_controller_is_told_only_of_limits_that_were_asked_for(group: Cgroup) -> None:
    put(group, **{"cgroup.controllers": "cpu pids\n", "cpu.weight": "", "cpu.max": "", "pids.max": ""})
    assert limit_files.write(group, Limits(cpu_weight=7, memory_max=5)) == [
        "memory_max is not enforced: the memory controller is missing"
    ]
    assert Path(group.path, "cpu.weight").read_text() == "7"
    assert Path(group.path, "pids.max").read_text() == "max"
    assert not Path(group.path, "memory.max").exists()


def test_a_file_that_the_kernel_does_not_have_is_told(group: Cgroup) -> None:
    put(group, **{"cgroup.controllers": "io"})
    assert limit_files.write(group, Limits(io_weight=7)) == [
        f"io_weight is not enforced: {group.path}/io.weight: this kernel has no such file"
    ]
    assert limit_files.write(group, Limits()) == []


def test_usage_with_all_controllers(group: Cgroup) -> None:
    put(
        group,
        **{
            "cpu.stat": "usage_usec 2500000\nuser_usec 1\nsystem_usec 2\n",
            "memory.current": "4096\n",
            "memory.peak": "8192\n",
            "memory.max": "max\n",
            "memory.high": "1000000\n",
            "memory.events": "low 0\nhigh 3\nmax 2\noom 2\noom_kill 1\noom_group_kill 0\n",
            "pids.current": "7\n",
            "pids.max": "64\n",
            "cpu.pressure": "some avg10=12.50 avg60=1.00 avg300=0.00 total=9\nfull avg10=0.10 avg60=0.00\n",
            "memory.pressure": "some avg10=0.25 avg60=1.00 avg300=0.00 total=9\n",
            "io.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
            "cgroup.freeze": "1\n",
        },
    )
    use = usage_files.of_cgroup(group, agent="api", level="cgroup")
    assert use is not None
    assert (use.agent, use.level, use.cgroup) == ("api", "cgroup", "/c/shop/api")
    assert (use.cpu_seconds, use.tasks, use.tasks_limit) == (2.5, 7, 64)
    assert (use.memory_current, use.memory_peak, use.memory_limit, use.oom_kills) == (4096, 8192, 1000000, 1)
    assert use.pressure == Pressure(cpu=12.5, memory=0.25, io=0.0)
    assert use.frozen
    put(group, **{"memory.max": "2000000\n"})
    again = usage_files.of_cgroup(group, agent="api", level="cgroup")
    assert again is not None
    assert again.memory_limit == 2000000


def test_what_cannot_be_told_is_none_and_not_zero(group: Cgroup) -> None:
    put(group, **{"cpu.stat": "usage_usec 0\n", "cgroup.procs": "", "cgroup.threads": ""})
    use = usage_files.of_cgroup(group, agent="api", level="cgroup")
    assert use is not None
    assert (use.memory_peak, use.memory_limit, use.tasks_limit, use.pressure, use.oom_kills) == (None,) * 5


def test_one_that_is_gone_uses_nothing_that_could_be_told() -> None:
    gone = Cgroup(name="/gone", path="/nowhere/gone")
    assert usage_files.of_cgroup(gone, agent="api", level="cgroup") is None


def test_a_team_without_a_cgroup_is_the_sum_of_its_agents(group: Cgroup) -> None:
    put(group, **{"cpu.stat": "usage_usec 1500000\n", "memory.current": "10", "pids.current": "2"})
    use = usage_files.of_cgroup(group, agent="api", level="systemd")
    assert use is not None
    whole = usage_files.total([use, use], level="systemd")
    assert (whole.agent, whole.cpu_seconds, whole.memory_current, whole.tasks) == ("", 3.0, 20, 4)
    assert usage_files.total([], level="systemd").frozen is False
