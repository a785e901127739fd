"""In whose name a worktree is written to: of the present run, of an earlier one, of another agent, of a person."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import pids
from tests.support.guarded import Guarded, git
from tests.support.instance import Instance
from tests.support.waiting import wait_for

Repo = Callable[..., Path]


@pytest.fixture
def team(instance: Instance, repo: Repo) -> Guarded:
    return Guarded(instance, repo())


def test_an_agent_that_was_stopped_and_lost_its_lease_is_refused_by_its_token(team: Guarded) -> None:
    """It was held up; meanwhile its lease went to another, who has done with it. What it meant to write is too old."""
    mine = team.holds("a", "src/")
    agent = pids(team.instance)["a"]
    go = team.repo.parent / "go"
    script = f"echo mine >> src/main.py; until [ -e {go} ]; do sleep 0.01; done; git commit -qam mine"
    worker = subprocess.Popen(
        ["sh", "-c", script],
        cwd=team.worktree("a"),
        env={**os.environ, **team.identity("a")},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for pid in (agent, worker.pid):
            os.kill(pid, signal.SIGSTOP)
        team.release("a", mine)  # by a person: it does not answer any more
        theirs = team.holds("b", "src/main.py")
        assert theirs["token"] > mine["token"]
        team.commit("b", "src/main.py").ok()
        team.release("b", theirs)
        go.touch()
    finally:
        for pid in (agent, worker.pid):
            os.kill(pid, signal.SIGCONT)
    _, complaint = worker.communicate(timeout=60)
    assert worker.returncode != 0
    assert f"(token {mine['token']}) is lost: shop/b got src/main.py (token {theirs['token']})" in complaint
    again = team.holds("a", "src/")
    assert again["token"] > theirs["token"]
    team.git("a", "commit", "--quiet", "--all", "--message=Mine").ok()


def test_what_an_earlier_run_left_behind_cannot_write_what_the_present_one_holds(team: Guarded) -> None:
    old = team.identity("a")
    team.instance.run("restart", "a")
    assert wait_for(lambda: pids(team.instance)["a"], what="it runs again")
    team.holds("a", "src/")
    team.write("a", "src/main.py")
    team.git("a", "commit", "--quiet", "--message=Late", env=old).refused("earlier run")
    team.git("a", "commit", "--quiet", "--message=Now").ok()


def test_who_works_in_another_agents_worktree_writes_in_its_own_name(team: Guarded) -> None:
    own = team.identity("b")
    team.holds("b", "src/")
    team.write("a", "src/main.py")
    team.git("a", "commit", "--quiet", "--message=Helped", env=own).ok()
    team.write("a", "src/main.py", "more\n")
    stranger = {**own, "CORRAL_TEAM": "toys"}
    team.git("a", "commit", "--quiet", "--message=Meddled", env=stranger).refused("shop/b")


def test_a_person_of_the_repository_itself_is_not_asked(team: Guarded) -> None:
    team.holds("b", "src/")
    (team.repo / "src" / "main.py").write_text("mine\n")
    git(team.repo, "commit", "--quiet", "--all", "--message=Mine").ok()
