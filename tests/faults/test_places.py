"""Directories that cannot be used, and socket paths at their limit: told with a remedy, and nothing is started."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.faults.support.disks import Disk, small_disk
from tests.faults.support.population import assert_one_of_each, everything, population
from tests.faults.support.teams import IDLE, down, failure, last_seq, pids, toml
from tests.support.instance import Instance

#: Linux binds a unix socket at a path of up to 107 bytes; the longest below the runtime directory is
#: `/tmux/<team of 40>.sock`.
_ROOM = 107 - len("/tmux/" + "t" * 40 + ".sock")


def test_a_home_that_is_a_file_is_told_and_stays(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    Path(instance.home).write_text("mine\n")
    code, error = instance.error("up")
    assert code == 1
    assert instance.home in error["message"]
    assert "CORRAL_HOME" in error["remedy"]
    assert Path(instance.home).read_text() == "mine\n"
    assert everything(instance) == []


def test_a_home_below_a_file_is_told(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    (own_directory / "file").write_text("mine\n")
    instance.home = str(own_directory / "file" / "home")
    code, error = instance.error("up")
    assert code == 1
    assert instance.home in error["message"]
    assert everything(instance) == []


def test_a_runtime_directory_that_is_a_file_is_told_and_stays(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    Path(instance.runtime).write_text("mine\n")
    code, error = instance.error("up")
    assert code == 1
    assert instance.runtime in error["message"]
    assert Path(instance.runtime).read_text() == "mine\n"
    assert everything(instance) == []


@pytest.mark.parametrize("which", ["home", "runtime"])
def test_a_directory_that_cannot_be_written_is_told_and_nothing_is_started(
    own_directory: Path, instance: Instance, which: str
) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    with small_disk(own_directory / "sealed") as disk:
        setattr(instance, which, str(disk.path / "inside"))
        disk.read_only()
        code, error = instance.error("up")
        assert code == 1
        assert str(disk.path) in error["message"]
        assert "Read-only" in error["message"]
        assert error["remedy"]
        assert everything(instance) == []
        disk.read_only(False)
        assert os.listdir(disk.path) == []


def test_a_home_that_became_read_only_lets_a_running_team_be(home_disk: Disk, instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    before, seq = pids(instance), last_seq(instance)
    instance.run("daemon", "stop")
    # A keeper that records has its logs open for writing; the kernel seals a disk only when nobody has.
    done = subprocess.run(["mount", "-o", "remount,ro", str(home_disk.path)], capture_output=True, check=False)
    if done.returncode == 0:
        code, error = instance.error("daemon", "start")
        assert code in (1, 6)
        assert error["message"]
        home_disk.read_only(False)
    assert population(instance) == {"a": [before["a"]]}
    instance.run("daemon", "start")
    assert pids(instance) == before
    assert last_seq(instance) >= seq


def test_somebody_without_rights_is_told_and_nothing_is_started(instance: Instance, own_directory: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("permission bits bind us as they are: the read-only disk covers it")
    instance.spec(toml({"a": {"command": IDLE}}))
    own_directory.chmod(0o755)
    closed = own_directory / "closed"
    closed.mkdir(mode=0o755)
    instance.home = str(closed / "h")
    instance.runtime = str(closed / "r")
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [*as_nobody, *instance.argv("up", "--json")],
        cwd=own_directory,
        env=instance.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "Permission denied" in done.stderr and "python" in done.stderr and "error" not in done.stderr:
        pytest.skip("nobody may not even run this Python")
    assert done.returncode == 1, done.stderr
    error = failure(done)
    assert "Permission denied" in error["message"]
    assert error["remedy"]
    assert everything(instance) == []
    assert os.listdir(closed) == []


def test_a_directory_of_somebody_else_is_refused(instance: Instance) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a directory away")
    instance.spec(toml({"a": {"command": IDLE}}))
    os.mkdir(instance.runtime, 0o777)
    os.chown(instance.runtime, 65534, 65534)
    done = instance.run("up", "--json", check=False)
    assert done.returncode != 0
    assert instance.runtime in failure(done)["message"]
    assert everything(instance) == []
    assert os.listdir(instance.runtime) == []


def test_directories_are_private_also_those_that_were_open_before(instance: Instance) -> None:
    os.mkdir(instance.home, 0o755)
    os.mkdir(instance.runtime, 0o777)
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    for directory in (instance.home, instance.runtime):
        for path, _, files in os.walk(directory):
            if "worktrees" not in path:
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o700, path
            for file in files:
                assert stat.S_IMODE(os.lstat(os.path.join(path, file)).st_mode) & 0o077 == 0, file


@pytest.mark.parametrize("which", ["home", "runtime"])
def test_an_open_directory_that_holds_other_things_is_refused_and_left_as_it_is(
    instance: Instance, own_directory: Path, which: str
) -> None:
    """`CORRAL_HOME=/tmp`, said by root, would close /tmp to everybody."""
    instance.spec(toml({"a": {"command": IDLE}}))
    shared = own_directory / "shared"
    shared.mkdir()
    (shared / "notes.txt").write_text("mine\n")
    shared.chmod(0o1777)
    setattr(instance, which, str(shared))
    before = sorted(os.listdir(own_directory))
    for command in (("up",), ("daemon", "start")):
        code, error = instance.error(*command)
        assert (code, error["code"]) == (4, "refused")
        assert f"{shared} is open to others (mode 1777)" in error["message"]
        assert {"home": "CORRAL_HOME", "runtime": "CORRAL_RUNTIME_DIR"}[which] in error["remedy"]
        assert f"chmod 700 {shared}" in error["remedy"]
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert os.listdir(shared) == ["notes.txt"]
    assert sorted(os.listdir(own_directory)) == before
    assert everything(instance) == []
    instance.run("doctor", "--fix", check=False)
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    shared.chmod(0o700)  # the remedy
    instance.run("up")


def test_an_open_directory_with_a_corral_db_of_somebody_else_is_refused(
    instance: Instance, own_directory: Path
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a file away")
    instance.spec(toml({"a": {"command": IDLE}}))
    os.mkdir(instance.home)
    bait = Path(instance.home, "corral.db")
    bait.touch()
    os.chown(bait, 65534, 65534)
    os.chmod(instance.home, 0o777)
    assert instance.error("up")[0] == 4
    assert stat.S_IMODE(os.stat(instance.home).st_mode) == 0o777
    bait.unlink()


def test_directories_of_ours_that_somebody_opened_are_closed_again(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    instance.run("daemon", "stop")
    opened = [instance.home, instance.runtime, os.path.join(instance.runtime, "tmux")]
    for path in opened:
        os.chmod(path, 0o755)
    instance.run("daemon", "start")
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in opened] == [0o700] * 3


def _runtime_of(own_directory: Path, length: int) -> str:
    return str(own_directory / ("r" * (length - len(str(own_directory)) - 1)))


@pytest.mark.parametrize("over", [1, 50, 4000])
def test_a_runtime_directory_too_long_for_a_socket_is_refused_and_nothing_is_made(
    instance: Instance, own_directory: Path, over: int
) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.runtime = _runtime_of(own_directory, _ROOM + over)
    before = sorted(os.listdir(own_directory))
    for command in (("up",), ("daemon", "start")):
        code, error = instance.error(*command)
        assert (code, error["code"]) == (2, "wrong_use")
        assert "CORRAL_RUNTIME_DIR" in error["remedy"]
        assert f"{_ROOM} bytes" in error["remedy"]
    assert sorted(os.listdir(own_directory)) == before
    assert everything(instance) == []


def test_a_runtime_directory_exactly_at_the_limit_works_with_the_longest_name(
    instance: Instance, own_directory: Path
) -> None:
    team = "t" * 40
    instance.spec(toml({"a": {"command": IDLE}}, name=team))
    instance.runtime = _runtime_of(own_directory, _ROOM)
    instance.run("up")
    assert_one_of_each(instance, {"a"}, team)
    instance.run("send", "a", "hello")
    down(instance, team=team)


def test_who_has_another_runtime_directory_is_told_where_the_daemon_is_and_starts_no_second_one(
    instance: Instance, own_directory: Path
) -> None:
    """As with sudo, or from cron: `XDG_RUNTIME_DIR` is not what it was."""
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    running, there = pids(instance), instance.runtime
    for daemon in ("runs", "was stopped, and the agents go on"):
        instance.runtime = str(own_directory / "x")
        for command in (["ps"], ["up"], ["daemon", "start"], ["down"]):
            code, error = instance.error(*command)
            assert (code, error["code"]) == (6, "unavailable"), (daemon, command)
            assert (
                f"is reached through {there}, and here the runtime directory is {instance.runtime}" in error["message"]
            )
            assert error["remedy"].startswith(f"export CORRAL_HOME={instance.home} CORRAL_RUNTIME_DIR={there}")
        assert not Path(instance.runtime).exists()
        instance.runtime = there
        if daemon == "runs":
            instance.run("daemon", "stop")
    instance.run("daemon", "start")
    assert pids(instance) == running
    assert_one_of_each(instance, {"a"})
    down(instance)


def test_with_nothing_up_another_runtime_directory_is_as_good(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    down(instance)
    instance.run("daemon", "stop")
    instance.runtime = str(own_directory / "x")
    instance.run("up")
    assert_one_of_each(instance, {"a"})
    down(instance)
