"""The daemon and the keeper are killed in the middle of their work, at many moments: what is begun is never doubled."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.support.population import (
    assert_one_of_each,
    daemons,
    keepers,
    population,
    tmux_servers,
)
from tests.faults.support.teams import await_states, down, states, toml
from tests.faults.test_tmux_dies import alone
from tests.support import processes, repos
from tests.support.instance import Instance

_COUNT = 30
_NAMES = {f"a-{number}" for number in range(1, _COUNT + 1)}
#: Moments a test; FAULT_ROUNDS=50 makes a soak of it.
_ROUNDS = int(os.environ.get("FAULT_ROUNDS", "4"))
_VICTIMS = ["daemon", "keeper", "both"]


def _spec(instance: Instance, directory: Path) -> None:
    instance.spec(toml({"a": {"command": alone(directory), "count": _COUNT}}))


def _kill(instance: Instance, victim: str) -> None:
    """Kill whoever of them there is at this moment."""
    found = []
    if victim in ("daemon", "both"):
        found += daemons(instance)
    if victim in ("keeper", "both"):
        found += keepers(instance)
    for one in found:
        processes.kill(one)


def _begin(instance: Instance, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        instance.argv(*arguments),
        cwd=instance.directory,
        env=instance.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _moments(longest: float) -> list[float]:
    """Moments spread over the work, and a different set each time the tests run."""
    source = random.Random()
    return [longest * (number + source.random()) / _ROUNDS for number in range(_ROUNDS)]


@pytest.mark.slow
@pytest.mark.parametrize("victim", _VICTIMS)
def test_killed_in_the_middle_of_up_the_next_up_makes_the_team_whole(
    instance: Instance, own_directory: Path, victim: str
) -> None:
    _spec(instance, own_directory)
    for moment in _moments(0.5):
        instance.run("daemon", "start")
        with _begin(instance, "up") as up:
            time.sleep(moment)
            _kill(instance, victim)
            _, said = up.communicate(timeout=60)
        assert up.returncode in (0, 1, 6), (moment, said)
        instance.run("up")
        await_states(instance, dict.fromkeys(_NAMES, "running"))
        assert_one_of_each(instance, _NAMES)
        assert len(daemons(instance)) == len(keepers(instance)) == len(tmux_servers(instance)) == 1
        assert not (own_directory / "two").exists(), f"killed after {moment:.3f} s"
        down(instance)
        assert population(instance) == {}


@pytest.mark.slow
@pytest.mark.parametrize("victim", _VICTIMS)
def test_killed_in_the_middle_of_down_the_next_down_is_clean(
    instance: Instance, own_directory: Path, victim: str
) -> None:
    _spec(instance, own_directory)
    for moment in _moments(0.2):
        instance.run("up")
        with _begin(instance, "down") as taking_down:
            time.sleep(moment)
            _kill(instance, victim)
            _, said = taking_down.communicate(timeout=60)
        assert taking_down.returncode in (0, 6), (moment, said)
        instance.run("daemon", "start")
        if taking_down.returncode == 6 and states(instance):
            down(instance)
        assert states(instance) == {}
        assert population(instance) == {}
        assert tmux_servers(instance) == []


@pytest.mark.slow
def test_killed_in_the_middle_of_worktrees_the_next_up_has_them_whole(instance: Instance, own_directory: Path) -> None:
    path = repos.make(own_directory / "project")
    for number in range(200):
        (path / f"file-{number}.txt").write_text(f"{number}\n" * 200)
    repos.git(path, "add", "-A")
    repos.git(path, "commit", "--quiet", "--message=Many files")
    names = {f"a-{number}" for number in range(1, 7)}
    instance.spec(toml({"a": {"command": alone(own_directory), "count": 6}}, repo=path))
    for moment in _moments(0.4):
        instance.run("daemon", "start")
        with _begin(instance, "up") as up:
            time.sleep(moment)
            _kill(instance, "both")
            up.communicate(timeout=60)
        instance.run("up")
        assert_one_of_each(instance, names)
        for name in names:
            worktree = Path(instance.home, "worktrees", "shop", name)
            assert repos.git(worktree, "status", "--porcelain") == "", f"killed after {moment:.3f} s"
            assert len(list(worktree.glob("file-*.txt"))) == 200
        assert down(instance)["kept"] == []
        assert repos.git(path, "branch", "--format=%(refname:short)") == "main"
        assert repos.git(path, "worktree", "list").count("\n") == 0


@pytest.mark.slow
@pytest.mark.parametrize("victim", _VICTIMS)
def test_killed_in_the_middle_of_restart_there_is_one_of_each_afterwards(
    instance: Instance, own_directory: Path, victim: str
) -> None:
    _spec(instance, own_directory)
    instance.run("up")
    for moment in _moments(0.3):
        with _begin(instance, "restart", "--all") as restarting:
            time.sleep(moment)
            _kill(instance, victim)
            restarting.communicate(timeout=60)
        instance.run("daemon", "start")
        instance.run("up")
        await_states(instance, dict.fromkeys(_NAMES, "running"))
        assert_one_of_each(instance, _NAMES)
        assert not (own_directory / "two").exists(), f"killed after {moment:.3f} s"
    down(instance)
