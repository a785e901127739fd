"""Which parts of a repository a program is given: its own, whatever its agent wrote into its workspace."""

import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from corral.domain.access import Access, Obstacles
from corral.domain.confinement import Confines
from corral.domain.errors import CorralError
from corral.keeper.confining import through
from corral.keeper.tools import HostTools


class _Tools:
    """A kernel that can do everything, and rules as they are."""

    obstacles = Obstacles()
    programs = ()

    @staticmethod
    def confine(rules: dict[str, Any]) -> list[Any]:
        return [rules]


def writable(workspace: Path, repository: Path, *, linked: bool = True) -> set[str]:
    """What of the repository may be written, from its directory on."""
    (rules,) = cast(
        "list[Any]",
        through(
            cast("HostTools", _Tools()),
            Confines(access=Access(write=("**",)), repository=str(repository), linked=linked),
            "any",
            workspace=str(workspace),
            environment={},
            own="/own",
            credential="",
        ),
    )
    top = str(repository)
    return {path.removeprefix(top) for path, word in rules["besides"] if "w" in word and path.startswith(top)}


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@x")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init")
    git(top, "commit", "--allow-empty", "-m", "first")
    for name in ("mine", "other"):
        git(top, "worktree", "add", "-b", name, str(tmp_path / name))
    return top / ".git"


def test_a_worktree_has_what_is_its_own_and_what_a_commit_writes(tmp_path: Path, repository: Path) -> None:
    assert writable(tmp_path / "mine", repository) == {"/worktrees/mine", "/objects", "/refs", "/logs"}
    assert writable(tmp_path / "repo", repository, linked=False) == {""}, "a checkout of the whole repository"


@pytest.mark.parametrize("leads_to", ["repo/.git", "repo/.git/worktrees/other", "repo/.git/hooks", "elsewhere"])
def test_an_agent_cannot_write_itself_another_repository(tmp_path: Path, repository: Path, leads_to: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine" / ".git").write_text(f"gitdir: {tmp_path / leads_to}\n")
    with pytest.raises(CorralError, match="leads out of the team's repository"):
        writable(tmp_path / "mine", repository)


def test_an_agent_cannot_lead_there_by_what_git_keeps_of_its_worktree(tmp_path: Path, repository: Path) -> None:
    (repository / "worktrees" / "mine" / "gitdir").write_text(f"{tmp_path / 'other' / '.git'}\n")
    with pytest.raises(CorralError, match="leads out of the team's repository"):
        writable(tmp_path / "mine", repository)


def test_a_checkout_whose_repository_is_elsewhere_has_all_of_it_and_a_worktree_never(tmp_path: Path) -> None:
    top, repository = tmp_path / "top", tmp_path / "kept"
    top.mkdir()
    git(top, "init", "--separate-git-dir", str(repository))
    assert writable(top, repository, linked=False) == {""}
    with pytest.raises(CorralError, match="leads out of the team's repository"):
        writable(top, repository)
