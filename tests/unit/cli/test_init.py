"""`corral init`: what it finds, what it writes, and what it leaves alone."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.agents.catalogue import for_command
from corral.domain.spec import TeamSpec, parse
from tests.unit.cli.conftest import Corral

Repo = Callable[..., Path]

#: The `corral` of the Python that runs the tests.
OWN = os.path.join(os.path.dirname(sys.executable), "corral")


@pytest.fixture(autouse=True)
def programs(own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but what a test installs."""
    directory = own_directory / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


@pytest.fixture
def install(programs: Path) -> Callable[..., None]:
    def install(*names: str) -> None:
        for name in names:
            (programs / name).write_text("#!/bin/sh\n")
            (programs / name).chmod(0o755)

    return install


@pytest.fixture
def project(own_directory: Path) -> Path:
    directory = own_directory / "My Shop"
    directory.mkdir()
    return directory


@pytest.fixture
def git_repo(repo: Repo, programs: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """Makes repositories with the real git, which is then taken off PATH again: `init` must not need it."""

    def make(*arguments: str, **options: str) -> Path:
        with monkeypatch.context() as patch:
            patch.setenv("PATH", os.defpath + ":/usr/local/bin")
            return repo(*arguments, **options)

    return make


def spec_in(directory: Path) -> TeamSpec:
    path = directory / "corral.toml"
    return parse(path.read_text(encoding="utf-8"), str(path))


def is_demo(directory: Path) -> bool:
    """Whether the first agent is known for the demo agent, by its command."""
    agent = spec_in(directory).agents[0]
    profile = for_command(agent.command, agent.shell)
    return profile is not None and profile.name == "demo"


def test_one_agent_for_each_that_is_installed(corral: Corral, git_repo: Repo, install: Callable[..., None]) -> None:
    install("codex", "claude", "corral")
    where = git_repo(name="shop")
    outcome = corral("init", str(where), "--json")
    assert outcome.code == 0
    assert outcome.json == {
        "file": str(where / "corral.toml"),
        "team": "shop",
        "agents": ["claude", "codex"],
        "detected": ["claude", "codex"],
    }
    team = spec_in(where)
    assert team.repo == str(where)
    assert [(agent.name, agent.workspace) for agent in team.agents] == [("claude", "worktree"), ("codex", "worktree")]


def test_the_demo_agent_where_none_is_installed(corral: Corral, project: Path, programs: Path) -> None:
    (programs / "corral").symlink_to(OWN)
    outcome = corral("init", str(project), "--json")
    assert outcome.json["agents"] == ["demo"]
    assert outcome.json["detected"] == []
    assert spec_in(project).agents[0].command == ("corral", "demo-agent")


@pytest.mark.parametrize("others", [(), ("corral",)], ids=["no corral", "another corral"])
def test_the_demo_agent_is_of_the_corral_that_runs_whatever_is_on_path(
    corral: Corral, project: Path, install: Callable[..., None], others: tuple[str, ...]
) -> None:
    install(*others)
    corral("init", str(project))
    assert spec_in(project).agents[0].command == (OWN, "demo-agent")
    assert is_demo(project)


def test_the_demo_agent_starts_also_where_corral_was_installed_without_its_script(
    corral: Corral, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/lib/python3")
    corral("init", str(project))
    assert spec_in(project).agents[0].command == ("/opt/lib/python3", "-m", "corral", "demo-agent")
    assert is_demo(project)


def test_mcp_is_written_down_for_up_to_act_on(corral: Corral, project: Path) -> None:
    assert corral("init", "--mcp", str(project)).code == 0
    assert all(agent.mcp for agent in spec_in(project).agents)
    assert corral("init", "--force", str(project)).code == 0
    assert not any(agent.mcp for agent in spec_in(project).agents)
    assert sorted(os.listdir(project)) == ["corral.toml"]


def test_a_person_is_told_what_was_found_and_what_comes_next(corral: Corral, project: Path) -> None:
    outcome = corral("init", str(project))
    assert f"wrote {project}/corral.toml: team my-shop with demo" in outcome.out
    assert "no coding agent was found" in outcome.out
    assert "there is no git repository here: the agents share one directory" in outcome.out
    assert "corral up" in outcome.out


def test_the_current_directory_is_the_default(corral: Corral, own_directory: Path) -> None:
    assert corral("init", "--json").json["file"] == str(own_directory / "corral.toml")


def test_below_the_top_of_a_repository(corral: Corral, git_repo: Repo) -> None:
    where = git_repo()
    corral("init", str(where / "src"))
    team = spec_in(where / "src")
    assert (team.name, team.repo, team.agents[0].workspace) == ("src", str(where), "worktree")
    assert not (where / "corral.toml").exists()


def test_through_a_link_the_repository_is_the_real_one(corral: Corral, git_repo: Repo, own_directory: Path) -> None:
    where = git_repo()
    (own_directory / "link").symlink_to(where / "src")
    assert corral("init", "link", "--json").json["file"] == str(where / "src" / "corral.toml")
    assert spec_in(where / "src").repo == str(where)


@pytest.mark.parametrize(("kind", "workspace"), [("dirty", "worktree"), ("bare", "worktree"), ("empty", "shared")])
def test_every_kind_of_repository(corral: Corral, git_repo: Repo, kind: str, workspace: str) -> None:
    where = git_repo(kind)
    assert corral("init", str(where)).code == 0
    team = spec_in(where)
    assert (team.repo, team.agents[0].workspace) == (str(where), workspace)


def test_a_repository_without_a_commit_is_mentioned(corral: Corral, git_repo: Repo) -> None:
    assert "the repository has no commit yet" in corral("init", str(git_repo("empty"))).out


def test_a_file_that_is_there_is_left_alone(corral: Corral, project: Path) -> None:
    file = project / "corral.toml"
    file.write_text("mine")
    outcome = corral("init", str(project), "--json")
    assert (outcome.code, outcome.error["code"]) == (4, "refused")
    assert "--force" in outcome.error["remedy"]
    assert file.read_text() == "mine"


def test_a_link_that_leads_nowhere_is_left_alone(corral: Corral, project: Path) -> None:
    (project / "corral.toml").symlink_to("nowhere")
    assert corral("init", str(project)).code == 4
    assert (project / "corral.toml").is_symlink()


def test_force_replaces_it(corral: Corral, project: Path) -> None:
    (project / "corral.toml").write_text("mine")
    assert corral("init", "--force", str(project)).code == 0
    assert spec_in(project).name == "my-shop"


def test_not_even_force_replaces_a_directory(corral: Corral, project: Path) -> None:
    (project / "corral.toml").mkdir()
    assert corral("init", "--force", str(project)).code == 4


def test_somebody_who_writes_the_file_meanwhile_wins(
    corral: Corral, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "corral.toml"
    sync = os.fsync

    def sync_late(handle: int) -> None:
        file.write_text("theirs")
        sync(handle)

    monkeypatch.setattr(os, "fsync", sync_late)
    assert corral("init", str(project)).code == 4
    assert file.read_text() == "theirs"


def test_a_file_system_without_hard_links(corral: Corral, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    assert corral("init", str(project)).code == 0
    assert os.listdir(project) == ["corral.toml"]


def test_a_full_disk_leaves_nothing_behind(corral: Corral, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(_: int) -> None:
        raise OSError(28, "No space left on device")

    (project / "corral.toml").write_text("mine")
    monkeypatch.setattr(os, "fsync", sync)
    outcome = corral("init", "--force", str(project), "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "failed")
    assert "No space left on device" in outcome.error["message"]
    assert os.listdir(project) == ["corral.toml"]
    assert (project / "corral.toml").read_text() == "mine"


def test_the_file_is_as_readable_as_any_other(corral: Corral, project: Path) -> None:
    before = os.umask(0o022)
    try:
        corral("init", str(project))
    finally:
        os.umask(before)
    assert stat.S_IMODE((project / "corral.toml").stat().st_mode) == 0o644


def test_a_directory_that_cannot_be_written(corral: Corral) -> None:
    # Not even root can make a file here.
    outcome = corral("init", "/proc", "--json")
    assert (outcome.code, outcome.error["code"]) == (1, "failed")
    assert outcome.error["message"].startswith("cannot write /proc/corral.toml: ")
    assert "writable" in outcome.error["remedy"]


def test_a_directory_that_is_not_there(corral: Corral) -> None:
    assert corral("init", "nowhere").code == 3


def test_a_file_for_a_directory(corral: Corral, project: Path) -> None:
    (project / "x").touch()
    assert corral("init", str(project / "x")).code == 2
