"""An agent tampers with the launch files of its team: the keeper neither hangs nor fails, and follows no link."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, ps, toml
from tests.support.instance import Instance

pytestmark = pytest.mark.tmux


def _exits(team: Path) -> list[Path]:
    return [
        path.with_name(path.name + ".exit") for path in team.iterdir() if path.suffix not in (".env", ".gate", ".exit")
    ]


def _pipes(team: Path) -> None:
    for path in _exits(team):
        os.mkfifo(path)


def _directories(team: Path) -> None:
    for path in _exits(team):
        (path / "inside").mkdir(parents=True)


def _link(team: Path) -> None:
    team.rename(team.with_name("moved"))
    team.symlink_to("moved")


@pytest.mark.parametrize("meddle", [_pipes, _directories, _link])
def test_stop_and_down_do_their_work(instance: Instance, meddle: Callable[[Path], None]) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.run("up")
    team = Path(instance.runtime, "launch", "shop")
    meddle(team)
    began = time.monotonic()
    instance.run("stop", "a-1", "--grace", "1")
    assert {name: agent["state"] for name, agent in ps(instance).items()} == {"a-1": "stopped", "a-2": "running"}
    receipt = instance.json("down", "--grace", "1")
    assert receipt["clean"], receipt
    assert time.monotonic() - began < 15
    assert not os.path.lexists(team)
    if meddle is _link:
        moved = team.with_name("moved")
        assert list(moved.glob("a-2.*")), "what the link led to is not ours to remove"
        shutil.rmtree(moved)
