"""`mcp = true` in a corral.toml: what `up` writes into workspaces, and what `down` makes of it."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.instance import Instance

pytestmark = pytest.mark.tmux

Repo = Callable[..., Path]


@pytest.fixture(autouse=True)
def coding_agents(own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs with the names of coding agents."""
    directory = own_directory / "bin"
    directory.mkdir()
    for name in ("claude", "codex"):
        (directory / name).write_text("#!/bin/sh\nexec cat\n")
        (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")


def team(mcp: bool, *agents: str) -> str:
    tables = "".join(f"[agents.{name}]\n{text}\n" for name, text in (agent.split(" ", 1) for agent in agents))
    return f'[team]\nname = "shop"\nrepo = "."\nmcp = {str(mcp).lower()}\n{tables}'


def seen_by_git(directory: Path) -> list[str]:
    done = subprocess.run(
        ["git", "-C", str(directory), "status", "--short"], check=True, capture_output=True, text=True
    )
    return [line for line in done.stdout.splitlines() if line != "?? corral.toml"]


def worktree(instance: Instance, agent: str) -> Path:
    return Path(instance.home, "worktrees", "shop", agent)


def test_each_agent_is_told_in_its_own_file_and_git_sees_nothing_of_it(instance: Instance, repo: Repo) -> None:
    where = repo()
    excluded = (where / ".git/info/exclude").read_text()
    instance.spec(
        team(True, "a command = ['claude']", "b command = ['codex', '-m', 'x']", "c command = ['cat']"), where
    )
    assert instance.json("up", cwd=where)["notes"] == []
    entry = json.loads((worktree(instance, "a") / ".mcp.json").read_text())["mcpServers"]["corral"]
    said = tomllib.loads((worktree(instance, "b") / ".codex/config.toml").read_text())["mcp_servers"]["corral"]
    assert entry["args"] == said["args"]
    assert [path.name for path in worktree(instance, "c").iterdir() if "mcp" in path.name or "codex" in path.name] == []
    for agent in ("a", "b", "c"):
        assert seen_by_git(worktree(instance, agent)) == []
    receipt = instance.json("down", cwd=where)
    assert (receipt["clean"], receipt["kept"]) == (True, [])
    assert not worktree(instance, "a").exists()
    assert (where / ".git/info/exclude").read_text() == excluded


def test_without_the_key_nothing_is_written(instance: Instance, repo: Repo) -> None:
    where = repo()
    instance.spec(team(False, "a command = ['claude']"), where)
    instance.run("up", cwd=where)
    assert not (worktree(instance, "a") / ".mcp.json").exists()
    instance.spec(team(True, "a command = ['claude']"), where)
    (agent,) = instance.json("up", cwd=where)["agents"]
    assert (agent["action"], agent["differs"]) == ("changed", ["mcp"])
    instance.run("up", "--restart-changed", cwd=where)
    assert (worktree(instance, "a") / ".mcp.json").exists()


def test_what_an_agent_adds_to_the_file_is_work(instance: Instance, repo: Repo) -> None:
    where = repo()
    instance.spec(team(True, "a command = ['claude']"), where)
    instance.run("up", cwd=where)
    (worktree(instance, "a") / ".mcp.json").write_text('{"mcpServers": {"db": {"command": "db"}}}')
    (kept,) = instance.json("down", cwd=where)["kept"]
    assert (kept["path"], kept["why"]) == (str(worktree(instance, "a")), "1 untracked file")
    instance.run("down", "--discard", cwd=where)


def test_a_file_that_git_tracks_is_left_alone_and_told_of(instance: Instance, repo: Repo) -> None:
    where = repo()
    (where / ".mcp.json").write_text("{}")
    for words in (["add", ".mcp.json"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "theirs"]):
        subprocess.run(["git", "-C", str(where), *words], check=True)
    instance.spec(team(True, "a command = ['claude']"), where)
    result = instance.json("up", cwd=where)
    (note,) = result["notes"]
    assert "is tracked by git" in note
    assert result["agents"][0]["state"] == "running"
    assert seen_by_git(worktree(instance, "a")) == []


def test_agents_that_share_a_workspace_share_the_file(instance: Instance, repo: Repo) -> None:
    where = repo()
    shared = "workspace = 'shared'"
    instance.spec(team(True, f"a command = ['claude']\n{shared}", f"b command = ['codex']\n{shared}"), where)
    instance.run("up", cwd=where)
    assert (where / ".mcp.json").exists()
    assert (where / ".codex/config.toml").exists()
    assert seen_by_git(where) == []
