"""The hooks that leases bite by: kept in place, switched off, and what they say if nobody answers them."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, pids, ps, toml
from tests.support import repos
from tests.support.guarded import Guarded, git
from tests.support.instance import Instance
from tests.support.waiting import wait_for

Repo = Callable[..., Path]


@pytest.fixture
def team(instance: Instance, repo: Repo) -> Guarded:
    return Guarded(instance, repo())


def test_a_hook_that_is_copied_over_one_of_ours_replaces_no_other(team: Guarded) -> None:
    team.holds("b", "src/")
    hooks = Path(team.git("a", "rev-parse", "--path-format=absolute", "--git-path", "hooks").ok().out.strip())
    theirs = team.repo.parent / "commit-msg"
    theirs.write_text("#!/bin/sh\n")
    subprocess.run(["cp", "--force", str(theirs), str(hooks / "commit-msg")], check=True)
    team.commit("a", "src/main.py").refused("shop/b")


def test_a_restart_writes_hooks_anew(team: Guarded) -> None:
    team.holds("b", "src/")
    hooks = Path(team.instance.home, "hooks", "shop", "a")
    (hooks / "pre-commit").unlink()
    (hooks / "reference-transaction").unlink()
    team.instance.run("restart", "a")
    team.commit("a", "src/main.py").refused("shop/b")


def test_a_restart_by_policy_brings_back_all_that_somebody_removed(instance: Instance, repo: Repo) -> None:
    """The hooks of its worktree, and Corral in the file of a coding agent that is to be told of it."""
    where = repo()
    program = Path(instance.directory, "claude")
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    agents: dict[str, dict[str, object]] = {
        "a": {"command": [str(program)], "restart": "always"},
        "b": {"command": IDLE},
    }
    instance.spec(toml(agents, repo=where).replace("[team]", "[team]\nmcp = true"))
    instance.run("up")
    instance.json("lease", "acquire", "--agent", "b", "src/")
    worktree = Path(instance.home, "worktrees", "shop", "a")
    shutil.rmtree(Path(instance.home, "hooks", "shop", "a"))
    (worktree / ".mcp.json").unlink()
    os.kill(pids(instance)["a"], signal.SIGKILL)
    wait_for(lambda: ps(instance)["a"]["restarts"] == 1 and ps(instance)["a"]["state"] == "running")
    assert (worktree / ".mcp.json").exists()
    (worktree / "src" / "main.py").write_text("mine\n")
    git(worktree, "commit", "--quiet", "--all", "--message=Mine").refused("shop/b")


def test_hooks_are_off_where_the_team_wants_none(team: Guarded) -> None:
    team.holds("b", "src/")
    team.up("[enforcement]\nworktrees = false")
    team.commit("a", "src/main.py").ok()
    assert not os.path.exists(os.path.join(team.instance.home, "hooks"))
    assert "corral" not in repos.git(team.repo, "config", "--local", "--list")
    assert "extensions" not in repos.git(team.repo, "config", "--local", "--list")
    team.up()
    team.write("a", "src/main.py", "again\n")
    team.git("a", "commit", "--quiet", "--message=Again").refused("shop/b")


@pytest.mark.parametrize("answer", ["deny", "allow"])
def test_a_daemon_that_is_not_there_is_told_loudly(instance: Instance, repo: Repo, answer: str) -> None:
    team = Guarded(instance, repo(), settings=f'[enforcement]\nunreachable = "{answer}"')
    instance.run("daemon", "stop")
    done = team.commit("a", "README.md")
    if answer == "deny":
        done.refused("daemon is not running", "corral daemon start", 'unreachable = "allow"')
    else:
        assert "NOT CHECKED" in done.ok().err
        assert "daemon is not running" in done.err
    instance.run("daemon", "start")


def test_a_daemon_that_does_not_answer_counts_as_not_there(team: Guarded) -> None:
    pid = int(team.instance.json("daemon", "status")["pid"])
    os.kill(pid, signal.SIGSTOP)
    try:
        team.commit("a", "README.md").refused("did not answer")
    finally:
        os.kill(pid, signal.SIGCONT)
    team.git("a", "commit", "--quiet", "--message=Now").ok()


def test_corral_that_is_gone_is_told_as_well(team: Guarded) -> None:
    script = Path(team.instance.home, "hooks", "shop", "a", "pre-commit")
    script.chmod(0o700)
    script.write_text(script.read_text().replace("corral.hook.git_hook", "corral.hook.gone"))
    team.commit("a", "README.md").refused("Corral's hook failed", "is it still installed at")
