"""What an agent writes into the repository's configuration, which it shares with everybody: our git runs none of it."""

from collections.abc import Callable
from pathlib import Path

from tests.faults.support.teams import IDLE, down, ps, toml
from tests.support.instance import Instance
from tests.support.repos import git


def test_a_monitor_that_hangs_is_not_run_and_does_not_hold_up_down(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    path, ran = repo(), own_directory / "ran"
    instance.spec(toml({"a": {"command": IDLE}}, repo=path))
    instance.run("up")
    worktree = Path(ps(instance)["a"]["workspace"])
    script = own_directory / "x.sh"
    script.write_text(f"#!/bin/sh\ntouch {ran}\nsleep 600\n")
    script.chmod(0o755)
    git(worktree, "config", "core.fsmonitor", str(script))
    receipt = down(instance)
    assert receipt["kept"] == []
    assert receipt["seconds"] < 30
    assert not worktree.exists()
    instance.run("up")  # nor does up
    assert not ran.exists()
