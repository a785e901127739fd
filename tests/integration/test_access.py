"""`[agents.x.access]` with real agents, a real kernel and real git: what the agent may write it can, commit and have
merged; all else is refused, by the kernel or by git.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from corral.adapters.landlock.confine import FILES_VERSION, version
from tests.faults.support.teams import IDLE, ps, toml
from tests.support import repos
from tests.support.guarded import Done, git
from tests.support.instance import Instance
from tests.support.waiting import wait_for

needs_files = pytest.mark.skipif(
    version() < FILES_VERSION, reason="this kernel has no Landlock that knows of truncating (Linux 6.2)"
)
SRC = {"write": ["src/**"]}
#: Writes inside and outside, and says what came of it, into the one place where it may; then stays.
TRIES = """
import json, os, sys, time
def tried(path):
    try:
        open(path, "a").close()
    except OSError as error:
        return error.errno
    return 0
top = os.environ["CORRAL_HOME"]
found = [tried(path) for path in ("src/inside", "docs", "new", top + "/x", os.path.expanduser("~/.corral-test"))]
found.append(tried(os.environ["TMPDIR"] + "/x"))
with open("src/found.part", "w") as file:
    json.dump(found, file)
os.rename("src/found.part", "src/found")
time.sleep(86400)
"""
CONFINED = [0, 13, 13, 13, 13, 0]


class Team:
    """Agents of the team `shop` in worktrees of a repository whose target is `main`."""

    def __init__(self, instance: Instance, directory: Path) -> None:
        self.instance = instance
        self.repo = repos.make(directory / "project")
        repos.git(self.repo, "branch", "--move", "main")
        (self.repo / "docs").write_text("whole\n")
        repos.git(self.repo, "add", ".")
        repos.git(self.repo, "commit", "--quiet", "--message=docs")

    def up(self, more: str = "", *words: str, **agents: dict[str, object]) -> None:
        told = {name: {"command": IDLE, **keys} for name, keys in agents.items()}
        self.instance.spec(toml(told, repo=self.repo) + more)
        self.instance.run("up", *words)

    def worktree(self, agent: str) -> Path:
        return Path(self.instance.home, "worktrees", "shop", agent)

    def sh(self, agent: str, line: str) -> Any:
        """A line of shell that runs for the agent, as the agent would run it."""
        return self.instance.json("exec", agent, "-c", line, check=False)

    def git(self, agent: str, *words: str) -> Done:
        """git in the worktree, by a person."""
        return git(self.worktree(agent), *words)

    def found(self, agent: str) -> list[int]:
        file = self.worktree(agent) / "src" / "found"
        wait_for(file.exists, 30, f"{agent} has tried")
        answer: list[int] = json.loads(file.read_text())
        file.unlink()
        return answer


@pytest.fixture
def team(instance: Instance, own_directory: Path) -> Team:
    return Team(instance, own_directory)


@needs_files
def test_an_agent_writes_where_it_may_and_nowhere_else(team: Team) -> None:
    """In a terminal and without one, when it is started, started again, and beside it."""
    command = [sys.executable, "-c", TRIES]
    team.up(
        a={"command": command, "access": SRC},
        b={"command": command, "access": SRC, "terminal": "none"},
    )
    assert (team.found("a"), team.found("b")) == (CONFINED, CONFINED)
    team.instance.run("restart", "a")
    assert team.found("a") == CONFINED
    done = team.sh("a", "echo x >src/y; echo x >docs; (cd src && echo x >../docs); ln -s ../docs src/l; echo x >src/l")
    assert json.dumps(done).count("Permission denied") == 3
    assert (team.worktree("a") / "docs").read_text() == "whole\n"
    seen = ps(team.instance)["a"]["access"]
    assert seen["write"] == ["src/**"]
    assert seen["enforced"] == {"write": "kernel", "read": None, "bind": None, "network": None, "why": ""}
    assert "write kernel" in team.instance.run("ps", "--wide").stdout


@needs_files
def test_what_it_wrote_it_can_commit_and_have_merged(team: Team) -> None:
    team.up(a={"access": SRC})
    done = team.sh(
        "a", "echo x >src/y && git add src && git commit -qm one && git commit -q --amend -m two && git log -1"
    )
    assert done["exit_code"] == 0, done
    merged = team.instance.json("merge", "submit", "--agent", "a", "--wait", "60s")
    assert merged["state"] == "merged"
    assert repos.git(team.repo, "show", "main:src/y") == "x"
    # What is the whole repository's is not the agent's to change.
    done = team.sh(
        "a", "git config --local core.pager evil; echo evil >$(git rev-parse --git-common-dir)/hooks/pre-push"
    )
    assert repos.git(team.repo, "config", "--get", "--default", "none", "core.pager") == "none"
    assert not (team.repo / ".git" / "hooks" / "pre-push").exists()


@needs_files
def test_a_directory_that_is_not_there_yet_is_made_and_a_link_in_its_place_is_refused(team: Team) -> None:
    team.up(a={"access": {"write": ["new/deep/**"]}})
    assert team.sh("a", "echo x >new/deep/y && git add new && git commit -qm new")["exit_code"] == 0
    assert team.sh("a", "echo x >new/y")["exit_code"] != 0
    team.instance.run("stop", "a")
    (team.worktree("a") / "new").rename(team.worktree("a") / "old")
    (team.worktree("a") / "new").symlink_to("/")
    team.instance.run("restart", "a", check=False)
    wait_for(lambda: ps(team.instance)["a"]["state"] == "failed", 20, "it has failed")
    assert "symbolic link new" in team.instance.run("logs", "a").stdout


@needs_files
def test_a_workspace_that_is_gone_or_leads_elsewhere_starts_nothing(team: Team, own_directory: Path) -> None:
    team.up(a={"access": SRC}, b={"access": SRC})
    team.instance.run("stop", "a", "b")
    team.worktree("a").rename(own_directory / "moved")
    other = repos.make(own_directory / "other")
    (team.worktree("b") / ".git").write_text(f"gitdir: {other}/.git\n")
    team.instance.run("restart", "a", "b", check=False)
    agents = ps(team.instance)
    assert (agents["a"]["state"], agents["b"]["state"]) == ("failed", "failed")
    assert "is not there" in agents["a"]["reason"]
    assert "leads out of the team's repository" in agents["b"]["reason"]


@needs_files
def test_reading_is_kept_to_what_is_declared(team: Team) -> None:
    team.up(a={"access": {"read": ["src/**"], "write": ["src/**"]}}, b={})
    secrets = Path(team.instance.runtime, "launch", "shop", "b.env")
    done = team.sh("a", f"cat docs; cat {secrets}; ls ~; cat src/* >/dev/null && git add src && echo fine")
    text = json.dumps(done)
    assert text.count("Permission denied") == 3
    assert "whole" not in text
    assert "fine" in text
    assert team.sh("b", f"cat docs {secrets} >/dev/null")["exit_code"] == 0


@needs_files
def test_one_that_may_read_next_to_nothing_can_prove_who_it_is_and_reads_nobody_else_s_proof(team: Team) -> None:
    team.up(a={"access": {"read": ["src/**"]}}, b={})
    show = 'cat "$CORRAL_CREDENTIAL_FILE"'
    own = team.instance.run("exec", "a", "--", "sh", "-c", show).stdout
    assert own.startswith("corral.")
    others = "cat $(dirname $CORRAL_CREDENTIAL_FILE)/b.credential"
    assert team.instance.run("exec", "a", "--", "sh", "-c", others, check=False).returncode != 0


def test_a_commit_outside_is_refused_with_the_file_the_patterns_and_what_helps(team: Team) -> None:
    """Where the kernel does not see to it: git does, for every way in which a file can change."""
    team.up(a={"access": {"write": ["src/**", "*.txt"], "enforce": "commit"}})
    where = team.worktree("a")
    assert ps(team.instance)["a"]["access"]["enforced"]["write"] == "commit"
    (where / "x.txt").write_text("fine")
    (where / "src" / "ok").write_text("fine")
    team.git("a", "add", ".").ok()
    team.git("a", "commit", "--quiet", "--message=inside").ok()
    ways = {
        "changed": "echo changed >docs",
        "removed": "rm docs",
        "renamed": "mv docs src",
        "a link": "rm docs; ln -s src/ok docs",
        "another case": "mkdir SRC; echo x >SRC/x",
        "new": "mkdir deep; echo x >deep/x.txt",
    }
    for way, change in ways.items():
        assert team.sh("a", change)["exit_code"] == 0
        team.git("a", "add", "--all").ok()
        done = team.git("a", "commit", "--quiet", f"--message={way}")
        assert done.code != 0, way
        named = {"another case": "SRC/x", "new": "deep/x.txt"}.get(way, "docs")
        assert f"{named}: this agent may write src/**, *.txt only ([agents.….access] in corral.toml)" in done.err
        assert "git restore --staged" in done.err
        team.git("a", "reset", "--quiet", "--hard").ok()
        team.git("a", "clean", "-qfd").ok()


def test_what_got_past_the_hooks_is_refused_when_it_is_merged(team: Team) -> None:
    team.up(a={"access": {"write": ["src/**"], "enforce": "commit"}}, b={})
    (team.worktree("a") / "docs").write_text("changed")
    team.git("a", "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--all", "--message=past").ok()
    code, error = team.instance.error("merge", "submit", "--agent", "a")
    assert (code, error["path"], error["write"]) == (4, "docs", ["src/**"])
    assert "shop/a may write src/** only" in error["message"]
    # Nor by another who submits it.
    code, error = team.instance.error("merge", "submit", "--agent", "b", "corral/shop/a")
    assert (code, error["path"]) == (4, "docs")
    assert "shop/a may write src/** only" in error["message"]
    assert repos.git(team.repo, "show", "main:docs") == "whole"


def test_with_the_hooks_off_it_is_looked_at_by_merges(team: Team) -> None:
    team.up("[enforcement]\nworktrees = false\n", a={"access": {"write": ["src/**"], "enforce": "commit"}})
    assert ps(team.instance)["a"]["access"]["enforced"]["write"] == "merge"
    (team.worktree("a") / "docs").write_text("changed")
    team.git("a", "commit", "--quiet", "--all", "--message=past").ok()
    assert team.instance.error("merge", "submit", "--agent", "a")[0] == 4


def test_an_agent_that_asks_its_hook_is_told_before_it_writes(team: Team) -> None:
    team.up(a={"access": {"write": ["src/**"], "enforce": "commit"}}, b={})
    env = {"CORRAL_TEAM": "shop", "CORRAL_AGENT": "a", "CORRAL_INSTANCE": "x"}

    def asks(path: Path) -> str:
        said = {"session_id": "s", "cwd": "/", "tool_name": "Write", "tool_input": {"file_path": str(path)}}
        done = team.instance.run("hook", "claude", "PreToolUse", input=json.dumps(said), env=env, check=False)
        return done.stdout + done.stderr

    assert "you may write src/** only" in asks(team.worktree("a") / "docs")
    assert "may write" not in asks(team.worktree("a") / "src" / "new")
    # The same name in somebody else's checkout is not its own.
    assert "you may write src/** only" in asks(team.worktree("b") / "src" / "new")
    assert "you may write src/** only" in asks(team.repo / "src" / "new")


def test_a_change_of_it_needs_a_restart(team: Team) -> None:
    team.up(a={"access": {"write": ["src/**"], "enforce": "commit"}})
    team.up("", a={"access": {"write": ["docs"], "enforce": "commit"}})
    assert ps(team.instance)["a"]["access"]["write"] == ["src/**"]
    team.up("", "--restart-changed", a={"access": {"write": ["docs"], "enforce": "commit"}})
    assert ps(team.instance)["a"]["access"]["write"] == ["docs"]


def test_where_nothing_would_see_to_it_nothing_is_started(instance: Instance, own_directory: Path) -> None:
    (own_directory / "work").mkdir()
    access = {"write": ["src/**"], "enforce": "commit"}
    instance.spec(toml({"a": {"command": IDLE, "workspace": "./work", "access": access}}))
    code, error = instance.error("up")
    assert code == 4
    assert "a: write is not possible here: nothing looks at what it changes" in error["message"]
    assert instance.json("ps") == []
    assert not os.listdir(own_directory / "work")
