"""Finding a repository by looking agrees with what git itself says."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.cli.init_repository import Repository, repository_of
from tests.support.repos import git

Repo = Callable[..., Path]


def found(path: Path) -> Repository | None:
    return repository_of(str(path))


def expect(top: Path, has_commit: bool) -> Repository:
    return Repository(top=str(top), has_commit=has_commit)


def test_no_repository(own_directory: Path) -> None:
    assert found(own_directory) is None
    assert repository_of("/") is None


@pytest.mark.parametrize(("kind", "has_commit"), [("normal", True), ("dirty", True), ("empty", False), ("bare", True)])
def test_every_kind(repo: Repo, kind: str, has_commit: bool) -> None:
    where = repo(kind)
    assert found(where) == expect(where, has_commit)


def test_a_directory_below_the_top(repo: Repo) -> None:
    where = repo()
    (where / "a" / "b").mkdir(parents=True)
    assert found(where / "a" / "b") == expect(where, True)


def test_from_within_the_git_directory(repo: Repo) -> None:
    where = repo()
    assert found(where / ".git") == expect(where, True)
    assert found(where / ".git" / "refs") == expect(where, True)


def test_packed_references(repo: Repo) -> None:
    where = repo()
    git(where, "pack-refs", "--all", "--prune")
    assert not os.listdir(where / ".git" / "refs" / "heads")
    assert found(where) == expect(where, True)


def test_a_branch_without_a_commit_beside_ones_with(repo: Repo) -> None:
    where = repo()
    git(where, "pack-refs", "--all", "--prune")
    git(where, "symbolic-ref", "HEAD", "refs/heads/new")
    assert found(where) == expect(where, False)


def test_a_detached_head(repo: Repo) -> None:
    where = repo()
    git(where, "checkout", "--quiet", "--detach")
    assert found(where) == expect(where, True)


def test_a_worktree(repo: Repo, own_directory: Path) -> None:
    where, tree = repo(), own_directory / "tree"
    git(where, "worktree", "add", "--quiet", "-b", "topic/x", str(tree))
    assert found(tree / "src") == expect(tree, True)


def test_a_worktree_of_a_bare_repository(repo: Repo, own_directory: Path) -> None:
    where, tree = repo("bare"), own_directory / "tree"
    git(where, "worktree", "add", "--quiet", "-b", "topic", str(tree))
    assert found(tree) == expect(tree, True)


def test_a_worktree_on_a_branch_without_a_commit(repo: Repo, own_directory: Path) -> None:
    where, tree = repo(), own_directory / "tree"
    git(where, "worktree", "add", "--quiet", "--detach", str(tree))
    git(tree, "symbolic-ref", "HEAD", "refs/heads/new")
    assert found(tree) == expect(tree, False)


def test_a_submodule(repo: Repo) -> None:
    where, part = repo(), repo(name="part")
    git(where, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "part")
    assert found(where / "part") == expect(where / "part", True)


def test_a_moved_main_repository_leaves_no_worktree(repo: Repo, own_directory: Path) -> None:
    where, tree = repo(), own_directory / "tree"
    git(where, "worktree", "add", "--quiet", "-b", "topic", str(tree))
    where.rename(own_directory / "moved")
    assert found(tree) is None


@pytest.mark.parametrize(("objects", "has_commit"), [((), False), (("ab",), True)])
def test_references_in_reftable_format(own_directory: Path, objects: tuple[str, ...], has_commit: bool) -> None:
    where = own_directory / "new"
    for path in ("refs", "reftable", "objects/info", "objects/pack", *(f"objects/{name}" for name in objects)):
        (where / ".git" / path).mkdir(parents=True)
    (where / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert found(where) == expect(where, has_commit)


def test_references_that_go_in_a_circle(repo: Repo) -> None:
    where = repo("empty")
    (where / ".git" / "HEAD").write_text("ref: HEAD\n")
    assert found(where) == expect(where, False)


def test_things_that_only_look_like_a_repository(own_directory: Path) -> None:
    where = own_directory / "x"
    where.mkdir()
    (where / ".git").mkdir()
    assert found(where) is None
    (where / "HEAD").touch()
    assert found(where) is None
    (where / ".git").rmdir()
    (where / ".git").write_bytes(b"\xff\x00 no pointer")
    assert found(where) is None
