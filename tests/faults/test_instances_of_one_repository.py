"""Two instances with a team of the same name on one repository: both work, and neither touches what is the other's."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, down, events, ps, states, toml
from tests.support.instance import Instance
from tests.support.repos import git


@pytest.fixture
def other(own_directory: Path) -> Iterator[Instance]:
    """A second instance, with a file of its own."""
    directory = own_directory / "o"
    directory.mkdir(mode=0o700)
    second = Instance(str(directory))
    try:
        yield second
    finally:
        second.close()


def _team(instance: Instance, repo: Path, agents: int = 1) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": agents}}, repo=repo))


def _worktree(instance: Instance, agent: str = "a") -> Path:
    return Path(instance.home, "worktrees", "shop", agent)


def _commit(path: Path, name: str) -> str:
    (path / name).write_text(name)
    git(path, "add", "-A")
    git(path, "commit", "--quiet", f"--message=Add {name}")
    return git(path, "rev-parse", "HEAD")


def _own_branch(instance: Instance, agent: str = "a") -> str:
    return f"corral/shop/{agent}.{instance.json('daemon', 'status')['instance']}"


def _branches(repo: Path) -> list[str]:
    return git(repo, "branch", "--format=%(refname:short)").split()


def test_both_are_up_on_branches_of_their_own(instance: Instance, other: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path)
    _team(other, path)
    instance.run("up")
    result = other.json("up")
    own = _own_branch(other)
    assert states(other) == states(instance) == {"a": "running"}
    assert git(_worktree(instance), "branch", "--show-current") == "corral/shop/a"
    assert git(_worktree(other), "branch", "--show-current") == own
    (note,) = result["notes"]
    assert own in note
    assert str(_worktree(instance)) in note
    (ready,) = [event for event in events(other) if event["event"] == "workspace.ready"]
    assert ready["data"]["branch"] == own


def test_what_one_takes_down_is_its_own(instance: Instance, other: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path)
    _team(other, path)
    instance.run("up")
    other.run("up")
    own = _own_branch(other)
    mine, theirs = _commit(_worktree(instance), "mine.txt"), _commit(_worktree(other), "theirs.txt")
    down(other, "--discard")
    assert _branches(path) == ["corral/shop/a", "main"]
    assert git(path, "rev-parse", "corral/shop/a") == mine
    other.run("up")
    git(path, "branch", "rescued", theirs)
    assert git(_worktree(other), "branch", "--show-current") == own
    _commit(_worktree(other), "more.txt")
    down(instance, "--discard")
    assert _branches(path) == [own, "main", "rescued"]


def test_work_on_the_other_branch_is_kept_and_found_again(
    instance: Instance, other: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    _team(instance, path)
    _team(other, path)
    instance.run("up")
    other.run("up")
    own = _own_branch(other)
    tip = _commit(_worktree(other), "theirs.txt")
    (kept,) = down(other)["kept"]
    assert "1 commit" in kept["why"]
    down(instance)  # the plain branch is free now, and nobody is moved over to it
    assert _branches(path) == [own, "main"]
    other.run("up")
    assert git(_worktree(other), "branch", "--show-current") == own
    assert git(_worktree(other), "rev-parse", "HEAD") == tip
    down(other)
    shutil.rmtree(_worktree(other))
    other.run("up")
    assert git(_worktree(other), "rev-parse", "HEAD") == tip
    git(path, "merge", "--quiet", own)
    down(other)
    assert _branches(path) == ["main"]


@pytest.mark.parametrize("noted", [True, False], ids=["noted", "note lost"])
def test_an_agent_that_switched_branches_leaves_neither_open_to_the_other(
    instance: Instance, other: Instance, repo: Callable[..., Path], noted: bool
) -> None:
    path = repo()
    _team(instance, path)
    _team(other, path)
    instance.run("up")
    tip = _commit(_worktree(instance), "mine.txt")
    git(_worktree(instance), "switch", "--quiet", "-c", "feature", "main")
    other.run("up")
    own = _own_branch(other)
    assert git(_worktree(other), "branch", "--show-current") == own  # not the plain one, though nobody is on it
    git(_worktree(other), "switch", "--quiet", "--detach")
    if not noted:
        note = Path(git(_worktree(other), "rev-parse", "--git-dir"), "corral-branch")
        note.unlink()
    assert down(other)["kept"] == []
    assert _branches(path) == ["corral/shop/a", "feature", "main"]
    (kept,) = down(instance)["kept"]
    assert "1 commit" in kept["why"]
    assert git(path, "rev-parse", "corral/shop/a") == tip


def test_a_note_that_an_agent_forged_costs_no_branch(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    git(path, "branch", "precious")
    _team(instance, path)
    instance.run("up")
    Path(git(_worktree(instance), "rev-parse", "--git-dir"), "corral-branch").write_text("precious\n")
    assert down(instance, "--discard")["kept"] == []
    assert _branches(path) == ["main", "precious"]


def test_both_at_once_get_what_they_need(instance: Instance, other: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    for each in (instance, other):
        _team(each, path, agents=6)
        each.run("daemon", "start")
    started = [
        subprocess.Popen(
            each.argv("up", "--json"),
            cwd=each.directory,
            env=each.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for each in (instance, other)
    ]
    for process in started:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, (json.loads(out), err)
    for each in (instance, other):
        assert set(states(each).values()) == {"running"}
        for agent in ps(each).values():
            assert git(agent["workspace"], "status", "--porcelain") == ""
    assert len(_branches(path)) == 13
    assert not [name for name in os.listdir(path / ".git") if name.startswith("corral")]
    down(instance)
    down(other)
    assert _branches(path) == ["main"]
