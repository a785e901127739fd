"""Repositories of every kind: what cannot carry a team is refused with nothing made, and nothing in any is touched."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, population
from tests.faults.support.teams import DEMO, IDLE, await_event, down, ps, toml
from tests.faults.support.trees import tree, working_tree
from tests.support.instance import Instance
from tests.support.repos import git

#: What is at the path, what the agents want of it, and a word of the refusal.
_REFUSED = [
    ("empty", "worktree", "no commit"),
    ("bare", "shared", "bare"),
    ("plain", "worktree", "not a git repository"),
    ("plain", "shared", "not a git repository"),
    ("missing", "worktree", "does not exist"),
    ("missing", "shared", "does not exist"),
    ("file", "worktree", "does not exist"),
]


@pytest.mark.parametrize(("kind", "workspace", "word"), _REFUSED)
def test_a_repository_that_cannot_carry_the_team_is_refused_and_nothing_is_made(
    instance: Instance, repo: Callable[..., Path], own_directory: Path, kind: str, workspace: str, word: str
) -> None:
    path = own_directory / "repo"
    if kind in ("empty", "bare"):
        path = repo(kind)
    elif kind == "plain":
        path.mkdir()
        (path / "notes.txt").write_text("mine\n")
    elif kind == "file":
        path.write_text("mine\n")
    instance.spec(toml({"a": {"command": IDLE, "workspace": workspace}}, repo=path))
    before = tree(own_directory / "repo") if path.is_dir() else None
    code, error = instance.error("up")
    assert (code, error["code"]) == (2, "bad_spec")
    assert word in error["message"]
    assert str(path) in error["message"]
    assert error["remedy"]
    assert population(instance) == {}
    assert ps(instance) == {}
    assert not Path(instance.home, "worktrees").exists()
    if before is not None:
        assert tree(path) == before


@pytest.mark.parametrize("kind", ["normal", "empty", "dirty"])
def test_agents_share_a_working_tree_whatever_is_in_it(
    instance: Instance, repo: Callable[..., Path], kind: str
) -> None:
    path = repo(kind)
    before = tree(path)
    instance.spec(toml({"a": {"command": IDLE, "count": 2, "workspace": "shared"}}, repo=path))
    instance.run("up")
    assert {agent["workspace"] for agent in ps(instance).values()} == {str(path)}
    assert_one_of_each(instance, {"a-1", "a-2"})
    assert down(instance)["kept"] == []
    assert tree(path) == before


def test_worktrees_of_a_dirty_repository_start_from_its_last_commit_and_its_changes_stay(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo("dirty")
    before = working_tree(path)
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}, repo=path))
    done = instance.json("up")
    assert any("uncommitted changes" in note for note in done["notes"])
    for agent in ps(instance).values():
        assert git(agent["workspace"], "status", "--porcelain") == ""
        assert git(agent["workspace"], "rev-parse", "HEAD") == git(path, "rev-parse", "HEAD")
        assert Path(agent["workspace"], "README.md").read_text() == "# A project\n"
    assert working_tree(path) == before
    assert down(instance)["kept"] == []
    assert working_tree(path) == before
    assert git(path, "branch", "--format=%(refname:short)") == "main"
    assert git(path, "worktree", "list").count("\n") == 0


def test_a_bare_repository_carries_worktrees_and_gets_the_work(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo("bare")
    instance.spec(toml({"a": {"command": DEMO, "prompt": "write new.txt: hello\ncommit: Add it"}}, repo=path))
    instance.run("up")
    await_event(instance, "prompt.submitted", "a")
    with instance.follow("logs", "-f", "a") as logs:
        while "done." not in logs.line():
            pass
    (kept,) = down(instance)["kept"]
    assert "1 commit" in kept["why"]
    assert git(path, "show", "corral/shop/a:new.txt") == "hello"


def test_without_a_repository_agents_share_the_directory_of_the_file(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE, "workspace": "deep/inside"}}))
    instance.run("up")
    workspaces = {name: agent["workspace"] for name, agent in ps(instance).items()}
    assert workspaces == {"a": str(own_directory), "b": str(own_directory / "deep" / "inside")}
    down(instance)
    assert (own_directory / "deep" / "inside").is_dir()  # a directory of the person's is never removed


def test_a_workspace_that_cannot_be_made_fails_its_agent_and_no_other(instance: Instance, own_directory: Path) -> None:
    (own_directory / "in-the-way").write_text("mine\n")
    instance.spec(toml({"a": {"command": IDLE, "workspace": "./in-the-way"}, "b": {"command": IDLE}}))
    done = instance.run("up", check=False)
    assert done.returncode == 1
    table = ps(instance)
    assert (table["a"]["state"], table["b"]["state"]) == ("failed", "running")
    assert "in-the-way" in table["a"]["reason"]
    assert (own_directory / "in-the-way").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["with blanks", "quo'te", 'dou"ble', "se;mi", "$(touch pwned)", "üñí", "-dash"])
def test_paths_of_any_kind_hold_workspaces(
    instance: Instance, repo: Callable[..., Path], own_directory: Path, name: str
) -> None:
    path = repo(name=f"repo {name}")
    directory = own_directory / name
    instance.home = str(own_directory / f"h {name}")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE, "workspace": f"./{name}"}}, repo=path))
    instance.run("up")
    table = ps(instance)
    assert table["a"]["workspace"] == f"{instance.home}/worktrees/shop/a"
    assert Path(f"/proc/{table['b']['pid']}/cwd").readlink() == directory
    assert git(table["a"]["workspace"], "status", "--porcelain") == ""
    down(instance)
    assert not Path(instance.home, "worktrees", "shop").exists()
    assert not list(own_directory.rglob("pwned"))
