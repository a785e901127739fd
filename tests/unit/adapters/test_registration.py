"""Registering the MCP server in a workspace: what is written, how, and what git sees of it."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.adapters.files.registration import holding_work, register
from corral.adapters.git.exclude import drop_unused, exclude
from corral.agents.catalogue import profiles
from corral.domain.errors import CorralError
from corral.own_command import own_command

Repo = Callable[..., Path]
#: profile → its file.
FILES = {
    "claude": ".mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
}


@pytest.fixture
def workspace(own_directory: Path) -> Path:
    """A directory that is in no repository."""
    directory = own_directory / "workspace"
    directory.mkdir()
    return directory


@pytest.fixture
def worktree(repo: Repo, own_directory: Path) -> Path:
    """A worktree of a repository, as an agent has it."""
    path = own_directory / "worktrees" / "api"
    git(repo(), "worktree", "add", "-q", "-b", "corral/shop/api", str(path))
    return path


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *words], check=True, capture_output=True, text=True)
    return done.stdout


def seen_by_git(directory: Path) -> list[str]:
    return git(directory, "status", "--porcelain", "--untracked-files=all").splitlines()


def servers(path: Path) -> dict[str, object]:
    text = path.read_text()
    said = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    (table,) = [value for key, value in said.items() if key in ("mcpServers", "mcp_servers", "mcp")]
    assert isinstance(table, dict)
    return table


@pytest.mark.parametrize(("profile", "file"), FILES.items())
def test_each_agent_finds_it_in_its_own_file(workspace: Path, profile: str, file: str) -> None:
    assert register(str(workspace), profile) == ""
    entry = servers(workspace / file)["corral"]
    assert isinstance(entry, dict)
    command = entry["command"]
    assert (command if isinstance(command, list) else [command, *entry["args"]]) == own_command("mcp")
    before = (workspace / file).stat()
    assert register(str(workspace), profile) == ""
    assert (workspace / file).stat().st_ino == before.st_ino  # not even written anew
    assert [str(path.relative_to(workspace)) for path in workspace.rglob("*") if path.is_file()] == [file]


def test_the_profiles_that_have_one_are_these() -> None:
    assert {profile.name: profile.mcp.files[0] for profile in profiles() if profile.mcp} == FILES


@pytest.mark.parametrize("profile", ["aider", "demo", "nobody", ""])
def test_for_others_nothing_is_written(workspace: Path, profile: str) -> None:
    assert register(str(workspace), profile) == ""
    assert list(workspace.iterdir()) == []


def test_codex_passes_on_what_says_whose_the_server_is(workspace: Path) -> None:
    register(str(workspace), "codex")
    entry = servers(workspace / ".codex/config.toml")["corral"]
    assert isinstance(entry, dict)
    assert {"CORRAL_HOME", "CORRAL_RUNTIME_DIR", "CORRAL_TEAM", "CORRAL_AGENT", "CORRAL_INSTANCE"} <= set(
        entry["env_vars"]
    )


def test_the_command_is_absolute_and_of_this_corral() -> None:
    command = own_command("mcp")
    assert os.path.isabs(command[0])
    assert os.path.dirname(command[0]) == os.path.dirname(sys.executable)
    assert subprocess.run([*command, "--help"], check=True, capture_output=True).stdout


def test_without_a_script_it_is_started_so_that_the_workspace_is_no_place_for_modules(
    monkeypatch: pytest.MonkeyPatch, own_directory: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(own_directory / "python3"))
    assert own_command("mcp") == [str(own_directory / "python3"), "-P", "-m", "corral", "mcp"]


class TestAFileThatIsThere:
    def test_keeps_its_mode_and_what_it_says(self, workspace: Path) -> None:
        file = workspace / ".mcp.json"
        file.write_text('{\n  "mcpServers": {\n    "db": {"command": "db"}\n  }\n}\n')
        file.chmod(0o640)
        assert register(str(workspace), "claude") == ""
        assert set(servers(file)) == {"db", "corral"}
        assert stat.S_IMODE(file.stat().st_mode) == 0o640

    def test_may_be_the_other_of_two(self, workspace: Path) -> None:
        (workspace / "opencode.jsonc").write_text('{\n  // mine\n  "theme": "x"\n}\n')
        assert register(str(workspace), "opencode") == ""
        assert '// mine\n  "theme": "x",\n  "mcp": {' in (workspace / "opencode.jsonc").read_text()
        assert not (workspace / "opencode.json").exists()

    @pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b" " * (1 << 20) + b"{}"])
    def test_is_left_alone_if_it_cannot_be_read(self, workspace: Path, text: bytes) -> None:
        file = workspace / ".mcp.json"
        file.write_bytes(text)
        note = register(str(workspace), "claude")
        assert note.startswith(f"Corral's MCP server is not registered in {workspace}: .mcp.json ")
        assert file.read_bytes() == text
        assert os.listdir(workspace) == [".mcp.json"]

    def test_is_left_alone_if_the_name_is_taken(self, workspace: Path) -> None:
        (workspace / ".mcp.json").write_text('{"mcpServers": {"corral": {"url": "https://horses.example"}}}')
        assert "not Corral's" in register(str(workspace), "claude")


class TestLinks:
    def test_no_link_is_followed(self, workspace: Path, own_directory: Path) -> None:
        outside = own_directory / "outside.json"
        outside.write_text("{}")
        (workspace / ".mcp.json").symlink_to(outside)
        assert "is a link" in register(str(workspace), "claude")
        assert outside.read_text() == "{}"

    def test_not_to_a_directory_either(self, workspace: Path, own_directory: Path) -> None:
        outside = own_directory / "outside"
        outside.mkdir()
        (workspace / ".codex").symlink_to(outside)
        assert "is a link" in register(str(workspace), "codex")
        assert list(outside.iterdir()) == []

    def test_what_is_no_file_is_not_waited_for(self, workspace: Path) -> None:
        os.mkfifo(workspace / ".mcp.json")
        assert "no file" in register(str(workspace), "claude")
        (workspace / "opencode.json").mkdir()
        assert "no file" in register(str(workspace), "opencode")

    def test_a_file_in_the_place_of_the_directory(self, workspace: Path) -> None:
        (workspace / ".codex").touch()
        assert "no directory" in register(str(workspace), "codex")


def test_a_directory_that_is_gone_is_told_of(workspace: Path) -> None:
    workspace.rmdir()
    assert "No such file or directory" in register(str(workspace), "claude")


def test_a_full_disk_leaves_nothing_behind(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)
    assert "No space left on device" in register(str(workspace), "claude")
    assert list(workspace.iterdir()) == []


class TestInAWorktree:
    @pytest.mark.parametrize("profile", FILES)
    def test_git_does_not_see_it_and_takes_the_worktree_away(self, worktree: Path, repo: Repo, profile: str) -> None:
        repository = worktree.parents[1] / "repo"
        before = (repository / ".git/info/exclude").read_text()
        assert register(str(worktree), profile) == ""
        assert seen_by_git(worktree) == []
        git(worktree, "add", "-A")
        assert seen_by_git(worktree) == []
        assert f"/{FILES[profile]}\n" in (repository / ".git/info/exclude").read_text()
        git(repository, "worktree", "remove", str(worktree))
        drop_unused(str(repository))
        assert (repository / ".git/info/exclude").read_text() == before

    def test_a_line_stays_as_long_as_somebody_needs_it(self, worktree: Path, own_directory: Path) -> None:
        repository, other = worktree.parents[1] / "repo", own_directory / "worktrees" / "docs"
        git(repository, "worktree", "add", "-q", "-b", "corral/shop/docs", str(other))
        for one in (worktree, other):
            assert register(str(one), "claude") == ""
            assert register(str(one), "codex") == ""
        (worktree / ".codex/config.toml").unlink()
        git(repository, "worktree", "remove", str(other))
        drop_unused(str(repository))
        text = (repository / ".git/info/exclude").read_text()
        assert "/.mcp.json\n" in text
        assert "/.codex/config.toml" not in text

    def test_a_tracked_file_is_left_alone(self, worktree: Path) -> None:
        file = worktree / ".mcp.json"
        file.write_text("{}")
        git(worktree, "add", ".mcp.json")
        git(worktree, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "theirs")
        assert "is tracked by git" in register(str(worktree), "claude")
        assert seen_by_git(worktree) == []

    def test_a_tracked_file_that_has_the_server_is_fine(self, worktree: Path) -> None:
        file = worktree / ".mcp.json"
        file.write_text('{"mcpServers": {"corral": {"command": "corral", "args": ["mcp"]}}}')
        git(worktree, "add", ".mcp.json")
        assert register(str(worktree), "claude") == ""

    def test_a_file_that_somebody_has_made_stays_as_visible_as_it_was(self, worktree: Path) -> None:
        (worktree / ".mcp.json").write_text('{"mcpServers": {"db": {}}}')
        assert register(str(worktree), "claude") == ""
        assert set(servers(worktree / ".mcp.json")) == {"db", "corral"}
        assert seen_by_git(worktree) == ["?? .mcp.json"]

    def test_it_is_hidden_before_it_is_there(self, worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever is killed in between has left a line that hides nothing."""

        def sync(_: int) -> None:
            raise OSError(28, "No space left on device")

        exclude(str(worktree), "other")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", sync)
            assert "No space left" in register(str(worktree), "claude")
        assert register(str(worktree), "claude") == ""
        assert seen_by_git(worktree) == []

    def test_a_link_in_the_place_of_the_exclude_file_is_not_followed(self, worktree: Path, own_directory: Path) -> None:
        theirs, file = own_directory / "theirs", worktree.parents[1] / "repo/.git/info/exclude"
        theirs.write_text("*.o\n")
        file.unlink()
        file.symlink_to(theirs)
        note = register(str(worktree), "claude")
        assert note.startswith(f"git sees {worktree}/.mcp.json, which is Corral's: exclude is a link")
        assert theirs.read_text() == "*.o\n"
        drop_unused(str(worktree))
        with pytest.raises(CorralError):
            holding_work(str(worktree))

    def test_below_the_top(self, worktree: Path) -> None:
        below = worktree / "a [b] *c"
        below.mkdir()
        assert register(str(below), "claude") == ""
        assert seen_by_git(worktree) == []
        exclude(str(below), ".mcp.json")  # once more changes nothing
        assert (worktree.parents[1] / "repo/.git/info/exclude").read_text().count(".mcp.json") == 1


class TestWork:
    def test_what_we_wrote_is_none(self, worktree: Path) -> None:
        assert holding_work(str(worktree)) == []
        for profile in FILES:
            register(str(worktree), profile)
        assert holding_work(str(worktree)) == []

    def test_what_somebody_added_is(self, worktree: Path) -> None:
        for profile in FILES:
            register(str(worktree), profile)
        (worktree / ".mcp.json").write_text('{"mcpServers": {"db": {"command": "db"}}}')
        (worktree / ".codex/config.toml").write_text("model = 'x'\n")
        (worktree / "opencode.json").unlink()
        (worktree / "opencode.json").symlink_to("nowhere")
        assert sorted(holding_work(str(worktree))) == [".codex/config.toml", ".mcp.json", "opencode.json"]

    def test_what_git_tracks_is_gits(self, worktree: Path, own_directory: Path) -> None:
        register(str(worktree), "claude")
        (worktree / ".mcp.json").write_text('{"mcpServers": {"db": {"command": "db"}}}')
        git(worktree, "add", "-f", ".mcp.json")
        assert holding_work(str(worktree)) == []
