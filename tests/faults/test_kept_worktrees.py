"""Worktrees that a team left when it went down: dealt with later, by the team's name or its file."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.faults.support.population import everything
from tests.faults.support.teams import IDLE, down, events, ps, toml
from tests.support.instance import Instance
from tests.support.repos import git


def _kept(instance: Instance, repo: Path) -> dict[str, Path]:
    """A team that is down and left two worktrees: `a-1` has an untracked file, `a-2` a commit."""
    instance.spec(toml({"a": {"command": IDLE, "count": 3}}, repo=repo))
    instance.run("up")
    paths = {name: Path(agent["workspace"]) for name, agent in ps(instance).items()}
    (paths["a-1"] / "new.txt").write_text("new\n")
    git(paths["a-2"], "commit", "--quiet", "--allow-empty", "--message=Work")
    assert len(down(instance)["kept"]) == 2
    return paths


def test_the_receipt_names_the_command_that_throws_it_away_and_that_works(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    instance.spec(toml({"a": {"command": IDLE}}, repo=path))
    instance.run("up")
    worktree = Path(ps(instance)["a"]["workspace"])
    (worktree / "new.txt").write_text("new\n")
    said = instance.run("down").stdout
    assert "(corral down -t shop --discard throws it away)" in said
    said = instance.run("down", "-t", "shop", "--discard").stdout
    assert f"removed with the work in it:\n  • {worktree}  discarded 1 untracked file" in said
    assert not worktree.parent.exists()


def test_down_with_discard_removes_what_a_team_at_rest_kept(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    worktrees = _kept(instance, path)
    tip = git(worktrees["a-2"], "rev-parse", "--short", "HEAD")
    receipt = down(instance, "--discard")
    assert (receipt["stopped"], receipt["kept"]) == ([], [])
    discarded = {item["path"]: item["why"] for item in receipt["discarded"]}
    assert "1 untracked file" in discarded[str(worktrees["a-1"])]
    assert tip in discarded[str(worktrees["a-2"])]
    assert not worktrees["a-1"].parent.exists()
    assert git(path, "branch", "--format=%(refname:short)") == "main"
    assert len(events(instance)[-1]["data"]["discarded"]) == 2
    code, error = instance.error("down", "-t", "shop", "--discard")
    assert (code, error["code"]) == (3, "not_found")


def test_down_without_discard_removes_only_what_holds_no_work_any_more(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    worktrees = _kept(instance, path)
    git(path, "merge", "--quiet", "corral/shop/a-2")
    (kept,) = down(instance)["kept"]
    assert kept["path"] == str(worktrees["a-1"])
    assert (worktrees["a-1"] / "new.txt").read_text() == "new\n"
    assert not worktrees["a-2"].exists()


def test_the_file_leads_to_them_as_well(instance: Instance, repo: Callable[..., Path]) -> None:
    worktrees = _kept(instance, repo())
    receipt = instance.json("down", "--discard")
    assert len(receipt["discarded"]) == 2
    assert not worktrees["a-1"].exists()
    assert instance.error("down", "--discard")[0] == 3


def test_a_file_never_leads_to_a_team_of_another_file(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    path = repo()
    worktrees = _kept(instance, path)
    (own_directory / "elsewhere").mkdir()
    instance.spec(toml({"a": {"command": IDLE, "count": 3}}, repo=path), own_directory / "elsewhere")
    instance.run("up", cwd=own_directory / "elsewhere")
    before = ps(instance)
    assert instance.error("down", "--discard")[0] == 3
    assert {name: agent["pid"] for name, agent in ps(instance).items()} == {
        name: agent["pid"] for name, agent in before.items()
    }
    assert (worktrees["a-1"] / "new.txt").exists()


def test_without_a_daemon_it_says_what_to_start_and_starts_nothing(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    worktrees = _kept(instance, repo())
    instance.run("daemon", "stop")
    for arguments in (("-t", "shop"), ()):
        code, error = instance.error("down", "--discard", *arguments)
        assert (code, error["code"]) == (6, "unavailable")
        assert "corral daemon start" in error["remedy"]
    assert everything(instance) == []
    assert worktrees["a-1"].exists()
    assert instance.error("down", "-t", "nobody")[0] == 3
    instance.run("daemon", "start")
    down(instance, "--discard")


def test_what_is_no_worktree_is_never_removed(instance: Instance, repo: Callable[..., Path]) -> None:
    worktrees = _kept(instance, repo())
    shutil.copytree(repo(name="other"), worktrees["a-3"])
    (worktrees["a-3"].parent / "notes").mkdir()
    (kept, other) = down(instance, "--discard")["kept"]
    assert (kept["path"], kept["why"]) == (str(worktrees["a-3"]), "not a git worktree")
    assert other["path"] == str(worktrees["a-3"].parent / "notes")
    assert (worktrees["a-3"] / "README.md").exists()


def test_a_name_that_is_a_path_leads_nowhere(instance: Instance, repo: Callable[..., Path]) -> None:
    worktrees = _kept(instance, repo())
    assert instance.error("down", "--discard", "-t", "../worktrees/shop")[0] == 3
    assert worktrees["a-1"].exists()


def test_discard_names_the_commits_that_are_lost_also_those_that_head_has_left(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    instance.spec(toml({"a": {"command": IDLE}}, repo=path))
    instance.run("up")
    worktree = Path(ps(instance)["a"]["workspace"])
    git(worktree, "commit", "--quiet", "--allow-empty", "--message=Left behind")
    lost = git(worktree, "rev-parse", "--short", "HEAD")
    git(worktree, "reset", "--quiet", "--hard", "HEAD~1")
    tip = git(worktree, "rev-parse", "--short", "HEAD")
    (discarded,) = down(instance, "--discard")["discarded"]
    assert discarded["why"] == f"discarded 1 commit that is nowhere else (it was at {tip}; lost: {lost})"
    assert git(path, "log", "-1", "--format=%s", lost) == "Left behind"
