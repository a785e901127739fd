"""What `up` and `down` say of what they did: a plan that holds, agents counted as what became of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.population import everything
from tests.faults.support.teams import DEMO, IDLE, down, events, states, toml
from tests.faults.support.trees import tree
from tests.support import repos
from tests.support.instance import Instance

pytestmark = pytest.mark.tmux


def test_a_restarted_agent_is_told_as_restarted(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}))
    instance.run("up")
    instance.spec(toml({"a": {"command": IDLE, "env": {"X": "1"}}, "b": {"command": IDLE}, "c": {"command": IDLE}}))
    done = instance.run("up", "--restart-changed")
    assert done.stderr.splitlines() == ["a: restarted", "c: started"]
    assert done.stdout == "shop: 1 started, 1 restarted, 1 as declared\n"


def test_down_counts_only_what_there_was_to_stop(instance: Instance, own_directory: Path) -> None:
    (own_directory / "in-the-way").write_text("mine\n")
    never_ran = {"command": IDLE, "workspace": "./in-the-way"}
    instance.spec(toml({"a": {"command": IDLE}, "b": never_ran, "c": {"command": ["true"]}, "d": {"command": IDLE}}))
    instance.run("up", check=False)
    instance.run("stop", "d")
    before = len(events(instance))
    done = instance.run("down")
    assert done.stderr == "a: stopped\n"
    assert done.stdout.startswith("shop is down, 1 agent stopped, nothing is left")
    stopped = [event["agent"] for event in events(instance)[before:] if event["event"] == "agent.stopped"]
    assert stopped == ["a"]


def test_down_of_a_team_that_never_ran_stops_nobody(instance: Instance, own_directory: Path) -> None:
    (own_directory / "in-the-way").write_text("mine\n")
    instance.spec(toml({"a": {"command": IDLE, "workspace": "./in-the-way"}}))
    instance.run("up", check=False)
    assert down(instance)["stopped"] == []


def test_one_that_never_ran_is_started_by_up_and_ps_and_restart_say_so(instance: Instance, own_directory: Path) -> None:
    in_the_way = own_directory / "in-the-way"
    in_the_way.write_text("mine\n")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE, "workspace": "./in-the-way"}}))
    instance.run("up", check=False)
    assert instance.run("ps").stdout.splitlines()[-1] == "corral up, for the file of shop, starts shop/b"
    refused = instance.run("restart", "b", check=False)
    assert "b has never been started: the workspace" in refused.stderr
    assert "corral up starts it" in refused.stderr
    in_the_way.unlink()
    instance.run("up")
    assert states(instance)["b"] == "running"


def test_one_that_failed_for_its_worktree_has_it_again_when_it_is_restarted(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    instance.spec(toml({"a": {"command": IDLE}}, repo=repo()))
    instance.run("up")
    instance.run("stop", "a")
    worktree = Path(instance.home, "worktrees", "shop", "a")
    shutil.rmtree(worktree)
    instance.run("restart", "a", check=False)
    assert states(instance)["a"] == "failed"
    assert instance.run("ps").stdout.splitlines()[-1] == "corral restart shop/a starts it again"
    instance.run("restart", "a")
    assert states(instance)["a"] == "running"
    assert (worktree / ".git").is_file()


def test_a_branch_that_is_another_name_of_one_is_not_gone_on_with(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    directory = repo()
    repos.git(directory, "branch", "precious")
    repos.git(directory, "symbolic-ref", "refs/heads/corral/shop/a", "refs/heads/precious")
    instance.spec(toml({"a": {"command": IDLE}}, repo=directory))
    done = instance.run("up", check=False)
    assert "the branch corral/shop/a is another name of refs/heads/precious" in done.stdout + done.stderr
    assert states(instance) == {"a": "failed"}


@pytest.mark.parametrize("daemon", [False, True], ids=["no daemon", "a daemon"])
@pytest.mark.parametrize(
    ("kind", "workspace", "word"),
    [
        ("empty", "worktree", "no commit"),
        ("bare", "shared", "bare"),
        ("none", "worktree", "not a git repository"),
        ("missing", "shared", "does not exist"),
    ],
)
def test_a_dry_run_refuses_the_repository_that_up_refuses(
    instance: Instance,
    repo: Callable[..., Path],
    own_directory: Path,
    kind: str,
    workspace: str,
    word: str,
    daemon: bool,
) -> None:
    path = own_directory / "repo"
    if kind in ("empty", "bare"):
        path = repo(kind)
    elif kind == "none":
        path.mkdir()
    instance.spec(toml({"a": {"command": IDLE, "workspace": workspace}}, repo=path))
    if daemon:
        instance.run("daemon", "start")
    running = everything(instance)
    code, error = instance.error("up", "--dry-run")
    assert (code, error["code"]) == (2, "bad_spec")
    assert word in error["message"]
    assert everything(instance) == running  # not even a keeper
    assert os.path.exists(instance.home) == daemon
    assert instance.error("up")[1] == error


@pytest.mark.parametrize("daemon", [False, True], ids=["no daemon", "a daemon"])
def test_a_dry_run_of_what_can_be_changes_nothing_and_calls_new_agents_pending(
    instance: Instance, repo: Callable[..., Path], daemon: bool
) -> None:
    path = repo("dirty")
    before = tree(path)
    instance.spec(toml({"a": {"command": DEMO}}, repo=path))
    if daemon:
        instance.run("daemon", "start")
    running = everything(instance)
    result = instance.json("up", "--dry-run")
    (agent,) = result["agents"]
    assert (agent["action"], agent["state"], agent["detail"], agent["remedy"]) == ("start", "pending", "", "")
    assert (result["dry_run"], result["changed"]) == (True, True)
    assert any("uncommitted changes" in note for note in result["notes"])
    assert everything(instance) == running
    assert tree(path) == before


def test_a_dry_run_of_a_team_that_is_up_asks_its_keeper(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    instance.spec(toml({"a": {"command": IDLE}}, repo=path))
    instance.run("up")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo=path))
    running = everything(instance)
    states = {agent["agent"]: agent["state"] for agent in instance.json("up", "--dry-run")["agents"]}
    assert states == {"a": "running", "b": "pending"}
    assert everything(instance) == running
