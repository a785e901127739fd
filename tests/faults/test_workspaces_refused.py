"""A workspace that cannot be made: told in one sentence with what helps, and nothing of it is left."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.population import population
from tests.faults.support.teams import IDLE, down, events, failure, ps, states, toml
from tests.faults.support.trees import tree
from tests.support.instance import Instance
from tests.support.repos import git


def _team(instance: Instance, repo: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}}, repo=repo))


def _refused(instance: Instance) -> tuple[str, str]:
    """What is said of the agent that got no workspace, and the remedy."""
    done = instance.run("up", "--json", check=False)
    assert done.returncode == 1
    error = failure(done)
    reason = str(ps(instance)["a"]["reason"])
    assert "\n" not in reason
    assert "corral logs" not in error["remedy"]  # it never ran: there are no last words
    (event,) = [event for event in events(instance) if event["event"] == "agent.failed"]
    assert event["data"] == {"reason": reason, "remedy": error["remedy"]}
    assert population(instance) == {}
    return reason, error["remedy"]


def test_a_branch_called_corral_is_named_before_anything_is_made(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    git(path, "branch", "corral")
    before = tree(path)
    _team(instance, path)
    for arguments in (("up", "--dry-run"), ("up",), ("up", "--dry-run")):  # with and without a daemon
        code, error = instance.error(*arguments)
        assert (code, error["code"]) == (4, "refused")
        assert error["message"] == f"the branch corral of {path} is in the way: git cannot have corral/shop/… beside it"
        assert error["remedy"] == f"give it another name: git -C {path} branch -m corral NEW-NAME"
    assert ps(instance) == {}
    assert tree(path) == before
    git(path, "branch", "-m", "corral", "mine")
    instance.run("up")
    assert states(instance) == {"a": "running"}


def test_a_branch_called_like_the_team_is_named(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    git(path, "branch", "corral/shop")
    _team(instance, path)
    reason, remedy = _refused(instance)
    assert "the branch corral/shop" in reason
    assert "branch -m corral/shop" in remedy
    assert git(path, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize("where", ["worktrees", "worktrees/shop"])
def test_a_file_where_a_directory_should_be_is_named(instance: Instance, repo: Callable[..., Path], where: str) -> None:
    blocker = Path(instance.home, where)
    blocker.parent.mkdir(parents=True)
    Path(instance.home).chmod(0o700)
    blocker.write_text("mine\n")
    _team(instance, repo())
    reason, remedy = _refused(instance)
    assert str(blocker) in reason
    assert f"make {blocker} a directory" in remedy
    assert blocker.read_text() == "mine\n"
    blocker.unlink()
    instance.run("up")
    assert states(instance) == {"a": "running"}


def test_what_is_in_the_way_has_its_own_remedy(instance: Instance, repo: Callable[..., Path]) -> None:
    worktree = Path(instance.home, "worktrees", "shop", "a")
    worktree.mkdir(parents=True)
    Path(instance.home).chmod(0o700)
    (worktree / "precious.txt").write_text("mine\n")
    _team(instance, repo())
    reason, remedy = _refused(instance)
    assert str(worktree) in reason
    assert "move it away" in remedy


def test_a_hook_that_says_no_is_quoted_and_nothing_of_the_worktree_stays(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    hook = path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'not on a Friday' >&2\nexit 1\n")
    hook.chmod(0o755)
    _team(instance, path)
    reason, _ = _refused(instance)
    assert "not on a Friday" in reason
    assert git(path, "branch", "--format=%(refname:short)") == "main"
    assert git(path, "worktree", "list").count("\n") == 0
    hook.unlink()
    instance.run("up")
    assert states(instance) == {"a": "running"}


def test_a_branch_that_another_git_holds_the_lock_of_is_told_as_that(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    lock = path / ".git" / "refs" / "heads" / "corral" / "shop" / "a.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    _team(instance, path)
    reason, remedy = _refused(instance)
    assert "a.lock" in reason
    assert "another git is at work" in remedy
    lock.unlink()
    instance.run("up")
    assert states(instance) == {"a": "running"}


def test_an_agent_that_ran_still_points_to_its_last_words(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": ["sh", "-c", "echo no key; exit 3"]}}))
    done = instance.run("up", "--json", check=False)
    assert failure(done)["remedy"] == "corral logs a shows its last words"


def test_a_workspace_that_was_deleted_is_made_again_by_up_and_whoever_restarts_is_told(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    _team(instance, repo())
    instance.run("up")
    shutil.rmtree(instance.json("ps")[0]["workspace"])
    done = instance.run("restart", "a", check=False)
    assert "is not there: corral up makes it again" in done.stdout
    assert "corral up makes a workspace again" in done.stderr
    assert "corral up makes it again" in instance.run("ps").stdout
    instance.run("up")
    assert states(instance) == {"a": "running"}


def test_a_repository_that_was_deleted_does_not_hold_up_down(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    path = repo()
    _team(instance, path)
    instance.run("up")
    path.rename(own_directory / "moved")
    (kept,) = down(instance)["kept"]
    assert "cannot be checked" in kept["why"]
    assert Path(kept["path"], "README.md").exists()
