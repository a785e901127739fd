"""The git work of the merge queue, on real repositories: what is merged, what is not, and when the target moves."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from corral.adapters.git import merge_target, merging
from corral.adapters.git.merge_checkouts import MergeCheckouts
from corral.domain.errors import RefusedError, UnavailableError
from corral.places import Places
from corral.ports.merging import Build, Landing, Piece
from tests.support import repos
from tests.support.merging import commit
from tests.support.repos import git


@pytest.fixture
def repo(own_directory: Path) -> Path:
    made = repos.make(own_directory / "project")
    git(made, "branch", "--move", "main")
    return made


def branch(repo: Path, name: str, files: dict[str, str], start: str = "main") -> Piece:
    where = repo.parent / f"scratch-{name}"
    git(repo, "worktree", "add", "--quiet", "-b", name, str(where), start)
    tip = commit(where, files)
    git(repo, "worktree", "remove", str(where))
    return Piece(name=name, tip=tip, message=f"Merge {name}\n\nCorral-Merge: {name}\n", person="ann")


def build(repo: Path, pieces: Sequence[Piece]) -> Build:
    return asyncio.run(merging.build(repo=str(repo), target="main", pieces=pieces))


def land(repo: Path, old: str, new: str) -> Landing:
    return asyncio.run(merge_target.land(repo=str(repo), target="main", old=old, new=new))


def outcomes(found: Build) -> list[str]:
    return [step.outcome for step in found.steps]


def test_each_is_merged_upon_the_one_before(repo: Path) -> None:
    before = git(repo, "for-each-ref")
    pieces = [branch(repo, name, {name: "1\n"}) for name in ("x", "y")]
    after = git(repo, "for-each-ref")
    found = build(repo, pieces)
    assert outcomes(found) == ["clean", "clean"]
    first, second = found.steps
    assert git(repo, "rev-parse", f"{first.commit}^1", f"{second.commit}^1").split() == [found.base, first.commit]
    assert (first.paths, second.paths) == ([b"x"], [b"y"])
    assert git(repo, "for-each-ref") == after != before
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "rev-parse", f"{second.commit}^{{tree}}") == second.tree


def test_a_conflict_with_the_target_is_final_and_one_with_another_waits(repo: Path) -> None:
    readme = [branch(repo, name, {"README.md": f"# {name}\n"}) for name in ("x", "y")]
    other = branch(repo, "z", {"z": "1\n"})
    found = build(repo, [*readme, other])
    # Those after it wait as well: nobody is overtaken.
    assert outcomes(found) == ["clean", "later"]
    assert land(repo, found.base, found.steps[0].commit).outcome == "landed"
    found = build(repo, [readme[1], other])
    assert outcomes(found) == ["conflict", "clean"]
    assert found.steps[0].files == [b"README.md"]


def test_one_that_is_part_of_another_is_there_when_that_landed(repo: Path) -> None:
    inner = branch(repo, "inner", {"inner": "1\n"})
    outer = branch(repo, "outer", {"outer": "1\n"}, start="inner")
    found = build(repo, [outer, inner])
    assert outcomes(found) == ["clean", "later"]
    land(repo, found.base, found.steps[0].commit)
    assert outcomes(build(repo, [inner])) == ["already"]


def test_what_has_no_history_in_common_or_is_gone(repo: Path) -> None:
    tree = git(repo, "rev-parse", "main^{tree}")
    foreign = git(repo, "commit-tree", tree, "-m", "other")
    pieces = [
        Piece(name="foreign", tip=foreign, message="x", person="ann"),
        Piece(name="gone", tip="0" * 39 + "1", message="x", person="ann"),
        Piece(name="option", tip="--output=/tmp/x", message="x", person="ann"),
    ]
    assert outcomes(build(repo, pieces)) == ["unrelated", "missing", "missing"]


def test_whose_name_the_merge_has(repo: Path) -> None:
    git(repo, "config", "user.name", "Ann Ample")
    git(repo, "config", "user.email", "ann@example.org")
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "author.name", "Somebody Else")
    (step,) = build(repo, [branch_unsigned(repo)]).steps
    said = git(repo, "log", "-1", "--format=%an <%ae> %cn", step.commit)
    assert said == "Ann Ample <ann@example.org> Corral"


def branch_unsigned(repo: Path) -> Piece:
    tree = git(repo, "rev-parse", "main^{tree}")
    tip = git(repo, "commit-tree", tree, "-p", "main", "-m", "x")
    return Piece(name="x", tip=tip, message="Merge x\n", person="ann")


def test_the_target_moves_once_however_often_it_is_asked(repo: Path) -> None:
    found = build(repo, [branch(repo, "x", {"x": "1\n"})])
    new = found.steps[0].commit
    assert [land(repo, found.base, new).outcome for _ in range(2)] == ["landed", "landed"]
    theirs = commit(repo, {"theirs": "1\n"})
    assert land(repo, found.base, new).outcome == "landed", "the target has it"
    later = build(repo, [branch(repo, "y", {"y": "1\n"}, start=new)])
    moved = commit(repo, {"theirs": "2\n"})
    assert land(repo, theirs, later.steps[0].commit).outcome == "moved"
    assert git(repo, "rev-parse", "main") == moved


@pytest.mark.parametrize("how", ["changed", "staged", "removed"])
def test_a_tree_with_changes_keeps_the_target_where_it_is(repo: Path, how: str) -> None:
    found = build(repo, [branch(repo, "x", {"x": "1\n"})])
    assert found.busy == ""
    if how == "removed":
        (repo / "README.md").unlink()
    else:
        (repo / "README.md").write_text("# Mine\n")
    if how == "staged":
        git(repo, "add", "README.md")
    before = git(repo, "status", "--porcelain")
    landing = land(repo, found.base, found.steps[0].commit)
    assert landing.outcome == "busy"
    assert "README.md" in landing.why
    assert "commit or stash" in landing.why
    assert git(repo, "status", "--porcelain") == before
    assert git(repo, "rev-parse", "main") == found.base
    assert "README.md" in build(repo, []).busy


def test_a_rebase_of_the_target_is_not_pulled_from_under_it(repo: Path) -> None:
    found = build(repo, [branch(repo, "x", {"x": "1\n"})])
    commit(repo, {"mine": "1\n"})
    base = git(repo, "rev-parse", "main")
    os.environ["GIT_SEQUENCE_EDITOR"] = "sed -i s/^pick/edit/"
    try:
        git(repo, "rebase", "--quiet", "--interactive", found.base)
    finally:
        del os.environ["GIT_SEQUENCE_EDITOR"]
    landing = land(repo, base, found.steps[0].commit)
    assert (landing.outcome, "a rebase of main is under way" in landing.why) == ("busy", True)
    git(repo, "rebase", "--continue")
    assert build(repo, []).busy == ""


def test_nobodys_hooks_run_and_nothing_is_put_aside(repo: Path, own_directory: Path) -> None:
    for name in ("post-merge", "post-checkout", "pre-merge-commit", "post-index-change"):
        hook = repo / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {own_directory}/ran-{name}\n")
        hook.chmod(0o755)
    git(repo, "config", "merge.autoStash", "true")
    git(repo, "config", "merge.ff", "false")
    git(repo, "config", "merge.verifySignatures", "true")
    found = build(repo, [branch_unsigned(repo)])
    for left in own_directory.glob("ran-*"):
        left.unlink()
    assert land(repo, found.base, found.steps[0].commit).outcome == "landed"
    assert git(repo, "rev-parse", "main") == found.steps[0].commit
    assert list(own_directory.glob("ran-*")) == []


def test_a_bare_repository_has_a_target_too(own_directory: Path) -> None:
    bare = repos.make(own_directory / "bare.git", "bare")
    head = git(bare, "symbolic-ref", "--short", "HEAD")
    tree = git(bare, "rev-parse", "HEAD^{tree}")
    tip = git(bare, "commit-tree", tree, "-p", "HEAD", "-m", "x")
    piece = Piece(name="x", tip=tip, message="x\n", person="ann")
    found = asyncio.run(merging.build(repo=str(bare), target=head, pieces=[piece]))
    new = found.steps[0].commit
    landing = asyncio.run(merge_target.land(repo=str(bare), target=head, old=found.base, new=new))
    assert landing.outcome == "landed"
    assert git(bare, "rev-parse", head) == new


def test_a_target_without_a_commit_is_refused(repo: Path) -> None:
    with pytest.raises(RefusedError, match="no branch nowhere with a commit"):
        asyncio.run(merging.build(repo=str(repo), target="nowhere", pieces=[]))
    with pytest.raises(RefusedError, match="HEAD named none"):
        asyncio.run(merging.build(repo=str(repo), target="", pieces=[]))


def test_an_old_git_is_named(repo: Path, own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = next(Path(part, "git") for part in os.environ["PATH"].split(":") if Path(part, "git").exists())
    old = own_directory / "bin" / "git"
    old.parent.mkdir()
    says = 'case " $* " in *" version "*) echo git version 2.30.2;; *) exec ' + str(real) + ' "$@";; esac'
    old.write_text(f"#!/bin/sh\n{says}\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    with pytest.raises(UnavailableError, match=r"needs git 2\.38 or later, and this is 2\.30\.2"):
        build(repo, [])


def test_a_checkout_is_made_anew_and_goes(repo: Path, own_directory: Path) -> None:
    places = Places(str(own_directory / "h"), str(own_directory / "r"))
    checkouts = MergeCheckouts(places)
    head = git(repo, "rev-parse", "main")

    def make() -> Path:
        return Path(asyncio.run(checkouts.make(team="shop", repo=str(repo), commit=head)))

    path = make()
    assert (path / "README.md").exists()
    (path / "made by a gate").write_text("1\n")
    (path / ".git").unlink()
    assert make() == path
    assert not (path / "made by a gate").exists()
    git(repo, "worktree", "lock", str(path))
    assert asyncio.run(checkouts.clear(team="shop", repo=str(repo))) == []
    assert str(path) not in git(repo, "worktree", "list")
    assert not path.parent.exists()
    assert asyncio.run(checkouts.clear(team="shop", repo=str(repo))) == []
