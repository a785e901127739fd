"""A worktree that cannot be deleted to its end: what is left is named as left, by every `down`, until it is gone."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, down, ps, states, toml
from tests.support.instance import Instance
from tests.support.repos import git


@contextmanager
def _undeletable(directory: Path) -> Iterator[Path]:
    """A file that git ignores and nobody here can delete, as a container that ran as root leaves one."""
    left = directory / "build" / "left"
    left.parent.mkdir()
    left.write_text("left\n")
    shut, opened = (["chattr", "+i"], ["chattr", "-i"]) if os.geteuid() == 0 else (["chmod", "a-w"], ["chmod", "u+w"])
    target = str(left if os.geteuid() == 0 else left.parent)
    done = subprocess.run([*shut, target], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"files that root cannot delete cannot be made here: {done.stderr.strip()}")
    try:
        yield left
    finally:
        if left.exists():
            subprocess.run([*opened, target], check=True)


def _team(instance: Instance, repo: Path) -> Path:
    (repo / ".gitignore").write_text("build/\n")
    git(repo, "add", ".gitignore")
    git(repo, "commit", "--quiet", "--message=Ignore what is built")
    instance.spec(toml({"a": {"command": IDLE}}, repo=repo))
    instance.run("up")
    return Path(ps(instance)["a"]["workspace"])


def test_it_is_residue_with_its_reason_and_goes_when_it_can(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    worktree = _team(instance, path)
    with _undeletable(worktree) as left:
        for again in ("at once", "and by the next one, of a team that is down"):
            done = instance.run("down", "--json", check=False)
            receipt = json.loads(done.stdout)
            (check,) = [check for check in receipt["checks"] if check["what"] == "worktrees"]
            assert (done.returncode, receipt["clean"], check["found"]) == (5, False, 1), again
            assert check["residue"][0]["name"] == str(worktree), again
            assert f"could not be removed: {left.name} in {left.parent}: " in check["residue"][0]["why"], again
        assert left.read_text() == "left\n"
        # For git it is no worktree any more, and its branch held nothing.
        assert git(path, "branch", "--format=%(refname:short)") == "main"
        code, error = instance.error("up")
        assert (code, error["remedy"]) == (
            1, f"remove it with the rights that it takes (sudo rm -r {worktree}), then run corral up again"
        )  # fmt: skip
        assert f"what is left of the last worktree at {worktree} cannot be removed" in ps(instance)["a"]["reason"]
    assert down(instance)["kept"] == []
    assert not worktree.exists()
    instance.run("up")
    assert states(instance) == {"a": "running"}
    down(instance)


def test_discard_does_not_get_further_and_says_so(instance: Instance, repo: Callable[..., Path]) -> None:
    worktree = _team(instance, repo())
    (worktree / "new.txt").write_text("new\n")
    with _undeletable(worktree):
        done = instance.run("down", "--discard", "--json", check=False)
        assert done.returncode == 5
        (check,) = [check for check in json.loads(done.stdout)["checks"] if check["what"] == "worktrees"]
        # What was thrown away all the same is in the receipt.
        assert "; discarded 1 untracked file (it was at " in check["residue"][0]["why"]
        assert not (worktree / "new.txt").exists()
    assert down(instance, "--discard")["clean"]
