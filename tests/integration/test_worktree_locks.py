"""An agent's worktree is locked: git removes, moves and prunes it for nobody in passing, and Corral still can."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import down
from tests.support import repos
from tests.support.guarded import Guarded, git
from tests.support.instance import Instance

Repo = Callable[..., Path]


@pytest.fixture
def team(instance: Instance, repo: Repo) -> Guarded:
    return Guarded(instance, repo())


def locks(repo: Path) -> dict[str, str]:
    """Which worktrees are locked: the last part of the path → why."""
    found = {}
    for entry in repos.git(repo, "worktree", "list", "--porcelain").split("\n\n"):
        facts = dict(line.partition(" ")[::2] for line in entry.splitlines())
        if "locked" in facts:
            found[Path(facts["worktree"]).name] = facts["locked"]
    return found


def test_no_agent_takes_anothers_worktree_from_under_it(team: Guarded) -> None:
    theirs = team.worktree("b")
    (theirs / "draft.txt").write_text("not committed yet\n")
    for words in (("remove", "--force", str(theirs)), ("move", "--force", str(theirs), str(team.repo.parent / "away"))):
        done = team.git("a", "worktree", *words)
        assert done.code != 0
        assert "shop/b works in it; corral rm" in done.err
    assert (theirs / "draft.txt").exists()


def test_what_git_knows_of_a_worktree_outlives_its_directory(team: Guarded) -> None:
    """Somebody removed the files. The branch is still the agent's, and the next `up` goes on with it."""
    team.commit("b", "src/theirs.py").ok()
    tip = team.tip("b")
    team.instance.run("stop", "b")
    shutil.rmtree(team.worktree("b"))
    team.git("a", "worktree", "prune", "--expire=now").ok()
    assert set(locks(team.repo)) == {"a", "b"}
    assert "goes on with branch corral/shop/b from last time" in team.up()
    assert team.tip("b") == tip
    assert set(locks(team.repo)) == {"a", "b"}


def test_whoever_goes_takes_the_lock_along(team: Guarded) -> None:
    instance = team.instance
    instance.run("rm", "--force", "a")
    assert set(locks(team.repo)) == {"b"}
    shutil.rmtree(team.worktree("b"))
    down(instance)
    assert repos.git(team.repo, "worktree", "list").count("\n") == 0
    assert not repos.git(team.repo, "branch", "--list", "corral/*")


def test_a_worktree_that_is_kept_is_not_locked_and_is_locked_again_when_it_is_used_again(team: Guarded) -> None:
    (team.worktree("a") / "draft.txt").write_text("not committed yet\n")
    down(team.instance)
    assert team.worktree("a").is_dir()
    assert locks(team.repo) == {}
    assert "worktree from last time" in team.up()
    assert set(locks(team.repo)) == {"a", "b"}
    down(team.instance, "--discard")
    assert not team.worktree("a").exists()
    assert locks(team.repo) == {}


def test_a_lock_of_the_persons_is_the_persons(team: Guarded) -> None:
    repos.git(team.repo, "worktree", "unlock", str(team.worktree("a")))
    repos.git(team.repo, "worktree", "lock", "--reason", "I look at it", str(team.worktree("a")))
    team.instance.run("restart", "--all")
    assert locks(team.repo)["a"] == "I look at it"
    assert [kept["why"] for kept in down(team.instance)["kept"]] == ["a lock of somebody's (I look at it)"]
    assert team.worktree("a").is_dir()
    repos.git(team.repo, "worktree", "unlock", str(team.worktree("a")))
    assert down(team.instance)["kept"] == []
    assert not team.worktree("a").exists()


def test_a_team_that_wants_no_enforcement_has_no_locks_either(team: Guarded) -> None:
    team.up("[enforcement]\nworktrees = false\n")
    assert locks(team.repo) == {}
    git(team.worktree("a"), "worktree", "remove", str(team.worktree("b"))).ok()
    assert not team.worktree("b").exists()
