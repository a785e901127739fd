"""Hooks of ours in a person's repository: theirs still run, and when we go nothing of ours is left."""

import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, down, ps, toml
from tests.support import repos
from tests.support.guarded import Guarded, git
from tests.support.instance import Instance

Repo = Callable[..., Path]

#: Writes down how it was called, then ends as the test wants it to.
_TELLING = """#!/bin/sh
{{
    echo "== ${{0##*/}} $*"
    echo "cwd $PWD"
    env | grep ^GIT_ | sort
    case ${{0##*/}} in reference-transaction | pre-push | post-rewrite) sed 's/^/stdin /' ;; esac
}} >>{told}
exit {code}
"""


#: git tells hooks the time of a commit.
_AT_ONE_TIME = {"GIT_AUTHOR_DATE": "2026-01-01T12:00:00Z"}


def put_hook(directory: Path, name: str, told: Path, code: int = 0) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    hook = directory / name
    hook.write_text(_TELLING.format(told=told, code=code))
    hook.chmod(0o755)


def snapshot(repo: Path) -> dict[str, str]:
    """What a person has said about the repository: its configuration, of whatever kind."""
    common = Path(repos.git(repo, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    files = [common / "config", common / "config.worktree", common / "info" / "exclude"]
    return {file.name: file.read_text() for file in files if file.exists()}


def in_force(directory: Path) -> str:
    """Where git looks for hooks."""
    return git(directory, "config", "core.hooksPath").out.strip()


def calls(told: Path) -> list[str]:
    """What was called, in order, without the many moves of refs."""
    lines = [line for line in told.read_text().splitlines() if line.startswith("== ")] if told.exists() else []
    return [line.removeprefix("== ") for line in lines if "reference-transaction" not in line]


@pytest.mark.parametrize("kind", ["usual", "relative", "absolute", "of the person"])
def test_hooks_of_the_person_run_wherever_they_are(instance: Instance, repo: Repo, kind: str) -> None:
    """As they did without us: the same calls with the same words, input and environment."""
    where, told = repo(), Path(instance.directory, "told")
    directory = {
        "usual": where / ".git" / "hooks",
        "relative": where / ".husky" / "_",
        "absolute": Path(instance.directory, "my hooks"),
        "of the person": Path(instance.directory, "global-hooks"),
    }[kind]
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite"):
        put_hook(directory, name, told)
    if kind == "relative":
        repos.git(where, "add", "--all")
        repos.git(where, "commit", "--quiet", "--message=Hooks")
        repos.git(where, "config", "core.hooksPath", ".husky/_")
    elif kind == "absolute":
        repos.git(where, "config", "core.hooksPath", str(directory))
    elif kind == "of the person":
        os.environ["GIT_CONFIG_GLOBAL"] = instance.env["GIT_CONFIG_GLOBAL"] = str(directory.parent / "gitconfig")
        repos.git(where, "config", "--global", "user.name", "Ann")
        repos.git(where, "config", "--global", "user.email", "ann@example.org")
        repos.git(where, "config", "--global", "core.hooksPath", str(directory))
    team = Guarded(instance, where)
    # The same in a worktree that git makes, and Corral has nothing to do with.
    plain = Path(instance.directory, "plain")
    repos.git(where, "worktree", "add", "--quiet", "-b", "plain", str(plain))
    reports = []
    for worktree in (team.worktree("a"), plain):
        told.unlink(missing_ok=True)
        (worktree / "new.txt").write_text("new\n")
        git(worktree, "add", "new.txt").ok()
        git(worktree, "commit", "--quiet", "--message=New", env=_AT_ONE_TIME).ok()
        git(worktree, "commit", "--quiet", "--amend", "--message=Newer", env=_AT_ONE_TIME).ok()
        head = repos.git(worktree, "rev-parse", "--git-dir")
        reports.append(told.read_text().replace(head, "GIT-DIR").replace(str(worktree), "WORKTREE"))
    assert calls(told)[0] == "pre-commit "
    assert "post-rewrite amend" in calls(told)
    commits = ["\n".join(line for line in report.splitlines() if not line.startswith("stdin ")) for report in reports]
    assert commits[0] == commits[1]
    assert [report.count("stdin ") for report in reports] == [1, 1]


def test_hooks_that_come_later_run_as_well(instance: Instance, repo: Repo) -> None:
    """As when `npm install` in a worktree puts them there, and says so in the repository's configuration."""
    team = Guarded(instance, repo())
    told = Path(instance.directory, "told")
    put_hook(team.worktree("a") / ".husky", "pre-commit", told, code=1)
    team.git("a", "config", "core.hooksPath", ".husky").ok()
    assert team.commit("a", "README.md").code == 1
    assert calls(told) == ["pre-commit "]
    team.git("a", "config", "--local", "--unset", "core.hooksPath").ok()
    team.git("a", "commit", "--quiet", "--message=Now").ok()


def test_the_exit_code_of_a_persons_hook_counts(instance: Instance, repo: Repo) -> None:
    where, told = repo(), Path(instance.directory, "told")
    team = Guarded(instance, where)
    before = team.tip("a")
    put_hook(where / ".git" / "hooks", "commit-msg", told, code=7)
    assert team.commit("a", "README.md").code != 0
    (where / ".git" / "hooks" / "commit-msg").unlink()
    put_hook(where / ".git" / "hooks", "reference-transaction", told, code=9)
    assert "aborted by hook" in team.git("a", "commit", "--quiet", "--message=No").err
    assert team.tip("a") == before
    assert "refs/heads/corral/shop/a" in told.read_text()
    (where / ".git" / "hooks" / "reference-transaction").chmod(0o644)  # git runs what may be run
    team.git("a", "commit", "--quiet", "--message=Yes").ok()


def test_a_refused_commit_runs_no_hook_of_the_persons(instance: Instance, repo: Repo) -> None:
    where, told = repo(), Path(instance.directory, "told")
    put_hook(where / ".git" / "hooks", "pre-commit", told)
    team = Guarded(instance, where)
    team.holds("b", "README.md")
    team.commit("a", "README.md").refused("shop/b")
    assert calls(told) == []


@pytest.mark.parametrize("kind", ["normal", "bare", "own worktree", "extension", "commented"])
def test_a_repository_is_found_as_it_was(instance: Instance, repo: Repo, kind: str) -> None:
    where = repo("bare") if kind == "bare" else repo()
    if kind == "own worktree":
        # As a submodule has it: git's directory is elsewhere, and says where the files are.
        repos.git(where.parent, "clone", "--quiet", f"--separate-git-dir={where.parent}/away", "repo", "apart")
        where = where.parent / "apart"
        repos.git(where, "config", "core.worktree", str(where))
    elif kind == "extension":
        repos.git(where, "config", "extensions.worktreeConfig", "true")
        repos.git(where, "config", "--worktree", "core.sparseCheckout", "false")
    elif kind == "commented":
        config = where / ".git" / "config"
        config.write_text(config.read_text() + "# mine\n[extensions]\n\t# none yet\n[corral]\n\tmine = yes\n")
    before, settings = snapshot(where), sorted(repos.git(where, "config", "--list").splitlines())
    team = Guarded(instance, where)
    team.holds("b", "README.md")
    team.commit("a", "README.md").refused("shop/b")
    # The person goes on in the repository meanwhile.
    assert repos.git(where, "rev-parse", "--is-bare-repository") == ("true" if kind == "bare" else "false")
    assert in_force(where) == ""
    beside = where.parent / "beside"
    repos.git(where, "worktree", "add", "--quiet", "--detach", str(beside))
    assert repos.git(beside, "status", "--porcelain") == ""
    assert in_force(beside) == ""
    repos.git(where, "worktree", "remove", str(beside))
    down(instance, "--discard")
    assert sorted(repos.git(where, "config", "--list").splitlines()) == settings
    if kind in ("normal", "extension", "commented"):
        assert snapshot(where) == before
    assert not os.path.exists(os.path.join(instance.home, "hooks"))


def test_a_worktree_that_is_kept_is_the_persons_again(instance: Instance, repo: Repo) -> None:
    where = repo()
    before = snapshot(where)
    team = Guarded(instance, where)
    team.write("a", "README.md")
    receipt = down(instance)
    assert [kept["path"] for kept in receipt["kept"]] == [str(team.worktree("a"))]
    assert snapshot(where) == before
    assert in_force(team.worktree("a")) == ""
    team.git("a", "commit", "--quiet", "--message=Mine now").ok()
    team.up()  # and the agent's once more
    team.holds("b", "src/")
    team.commit("a", "src/main.py").refused("shop/b")


def test_a_worktree_that_somebody_is_in_is_given_up_as_well(instance: Instance, repo: Repo) -> None:
    team = Guarded(instance, repo())
    somebody = subprocess.Popen(["sleep", "600"], cwd=team.worktree("a"))
    try:
        instance.run("down", "--team", "shop", check=False)
        assert in_force(team.worktree("a")) == ""
        assert not os.path.exists(os.path.join(instance.home, "hooks"))
    finally:
        somebody.kill()
        somebody.wait()


def test_a_worktree_that_was_deleted_by_hand_leaves_nothing(instance: Instance, repo: Repo) -> None:
    where = repo()
    before = snapshot(where)
    team = Guarded(instance, where)
    shutil.rmtree(team.worktree("a"))
    down(instance)
    assert snapshot(where) == before
    assert not os.path.exists(os.path.join(instance.home, "hooks"))


def test_what_an_agent_keeps_in_its_worktrees_configuration_stays(instance: Instance, repo: Repo) -> None:
    """As `git sparse-checkout` does: then the extension is needed for as long as that is there."""
    team = Guarded(instance, repo())
    team.git("a", "config", "--worktree", "core.sparseCheckout", "false").ok()
    team.write("a", "README.md")
    down(instance)
    assert team.git("a", "config", "--worktree", "--list").ok().out == "core.sparsecheckout=false\n"
    down(instance, "--discard")
    assert "extensions" not in repos.git(team.repo, "config", "--local", "--list")


def test_a_worktree_that_an_agent_makes_is_guarded_until_the_agent_goes(instance: Instance, repo: Repo) -> None:
    """git gives it the settings of the worktree that it is made in."""
    team = Guarded(instance, repo())
    team.holds("b", "src/")
    nested = Path(instance.directory, "nested")
    team.git("a", "worktree", "add", "--quiet", "--detach", str(nested)).ok()
    (nested / "src" / "main.py").write_text("mine\n")
    git(nested, "commit", "--quiet", "--all", "--message=Mine").refused("shop/b")
    down(instance, "--discard")
    assert in_force(nested) == ""
    assert "extensions" not in repos.git(team.repo, "config", "--local", "--list")


def test_two_instances_of_one_repository_do_not_take_each_others_hooks(instance: Instance, repo: Repo) -> None:
    where = repo()
    before = snapshot(where)
    mine = Guarded(instance, where)
    other = Instance(os.path.join(instance.directory, "o"))
    os.mkdir(other.directory)
    try:
        theirs = Guarded(other, where)
        mine.holds("b", "src/")
        down(other)
        mine.commit("a", "src/main.py").refused("shop/b")
        assert not os.path.exists(theirs.worktree("a"))
    finally:
        other.close()
    down(instance, "--discard")
    assert snapshot(where) == before


def test_twenty_worktrees_at_once_by_two_instances(instance: Instance, repo: Repo) -> None:
    """None is lost, each has its hooks, and none tracks anything, whatever the person's settings are."""
    where = repo()
    for name in ("branch.autoSetupMerge", "branch.autoSetupRebase"):
        repos.git(where, "config", name, "always")
    before = snapshot(where)
    other = Instance(os.path.join(instance.directory, "o"))
    os.mkdir(other.directory)
    teams = []
    for one, name in ((instance, "mine"), (other, "theirs")):
        one.spec(toml({"a": {"command": IDLE, "count": 10}}, name=name, repo=where))
        teams.append(threading.Thread(target=one.run, args=("up",)))
    try:
        for thread in teams:
            thread.start()
        for thread in teams:
            thread.join()
        worktrees = [Path(agent["workspace"]) for one in (instance, other) for agent in ps(one).values()]
        assert len(worktrees) == 20
        assert [agent["state"] for one in (instance, other) for agent in ps(one).values()] == ["running"] * 20
        assert len({in_force(worktree) for worktree in worktrees} - {""}) == 20
        assert "branch." not in repos.git(where, "config", "--local", "--list").replace("branch.autosetup", "")
    finally:
        down(instance, team="mine")
        down(other, team="theirs")
        other.close()
    assert snapshot(where) == before


def test_hooks_belong_to_the_person_alone_and_nothing_is_in_the_worktree(instance: Instance, repo: Repo) -> None:
    team = Guarded(instance, repo())
    directory = Path(instance.home, "hooks", "shop", "a")
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert team.git("a", "status", "--porcelain", "--ignored").ok().out == ""
