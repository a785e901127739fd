"""Where the target is checked out, and what may be in the way there: real repositories, nothing lost."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from corral.adapters.git import merge_target, merging, target_checkouts
from corral.adapters.git.merge_checkouts import MergeCheckouts, make_removable
from corral.domain.errors import RefusedError
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


def build(repo: Path, target: str = "main", **files: str) -> Build:
    """One branch with these files, merged upon the target."""
    where = repo.parent / "scratch"
    git(repo, "worktree", "add", "--quiet", "--detach", str(where), target)
    tip = commit(where, files or {"new": "1\n"})
    git(repo, "worktree", "remove", "--force", str(where))
    piece = Piece(name="q1", tip=tip, message="Merge q1\n", person="ann")
    return asyncio.run(merging.build(repo=str(repo), target=target, pieces=[piece]))


def land(repo: Path, found: Build, target: str = "main") -> Landing:
    new = found.steps[0].commit
    return asyncio.run(merge_target.land(repo=str(repo), target=target, old=found.base, new=new))


def wrapped_git(directory: Path, monkeypatch: pytest.MonkeyPatch, before_merge: str, after_merge: str = ":") -> None:
    """Have something happen right before, or after, git brings a working tree along."""
    real = next(Path(part, "git") for part in os.environ["PATH"].split(":") if Path(part, "git").exists())
    wrapper = directory / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" merge --ff-only "*) {before_merge};; *) exec {real} "$@";; esac\n'
        f'{real} "$@"; code=$?; {after_merge}; exit $code\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")


def test_a_target_that_is_another_name_of_a_branch(repo: Path) -> None:
    git(repo, "symbolic-ref", "refs/heads/trunk", "refs/heads/main")
    found = build(repo, "trunk")
    (repo / "README.md").write_text("# Mine\n")
    landing = land(repo, found, "trunk")
    assert (landing.outcome, "README.md" in landing.why) == ("busy", True), "main is checked out, and changed"
    git(repo, "restore", ".")
    assert land(repo, found, "trunk").outcome == "landed"
    assert (repo / "new").exists()
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "symbolic-ref", "refs/heads/trunk") == "refs/heads/main"
    with pytest.raises(RefusedError, match="the branch that merges go into"):
        asyncio.run(merging.look(repo=str(repo), directory="", branch="main", target="trunk"))


def test_a_target_that_is_checked_out_twice_waits(repo: Path) -> None:
    found = build(repo)
    other = repo.parent / "other"
    git(repo, "worktree", "add", "--quiet", "--force", str(other), "main")
    landing = land(repo, found)
    assert landing.outcome == "busy"
    assert f"{repo} and in {other}" in landing.why
    git(other, "switch", "--quiet", "--detach")
    assert land(repo, found).outcome == "landed"
    assert git(repo, "status", "--porcelain") == git(other, "status", "--porcelain") == ""


def test_a_locked_worktree_that_is_away_keeps_the_target(repo: Path) -> None:
    found = build(repo)
    git(repo, "switch", "--quiet", "--detach")
    disk = repo.parent / "disk"
    git(repo, "worktree", "add", "--quiet", str(disk), "main")
    git(repo, "worktree", "lock", str(disk))
    disk.rename(repo.parent / "unmounted")
    landing = land(repo, found)
    assert (landing.outcome, "locked and not there" in landing.why) == ("busy", True)
    (repo.parent / "unmounted").rename(disk)
    assert land(repo, found).outcome == "landed"
    assert (disk / "new").exists()


def test_a_bare_repository_with_worktrees_of_their_own_settings(own_directory: Path) -> None:
    bare = repos.make(own_directory / "bare.git", "bare")
    head = git(bare, "symbolic-ref", "--short", "HEAD")
    work = own_directory / "work"
    git(bare, "worktree", "add", "--quiet", "-b", "mine", str(work), head)
    git(bare, "config", "extensions.worktreeConfig", "true")
    git(bare, "config", "--unset", "core.bare")
    git(bare, "config", "--worktree", "core.bare", "true")
    found = build(work, head)
    assert (found.busy, land(work, found, head).outcome) == ("", "landed")
    assert git(bare, "rev-parse", head) == found.steps[0].commit


def test_a_repository_whose_directory_is_elsewhere(own_directory: Path) -> None:
    repo = repos.make(own_directory / "project")
    git(repo, "branch", "--move", "main")
    git(repo, "init", "--quiet", "--separate-git-dir", str(own_directory / "kept.git"))
    found = build(repo)
    assert land(repo, found).outcome == "landed"
    assert ((repo / "new").exists(), git(repo, "status", "--porcelain")) == (True, "")


def test_what_is_in_the_way_is_named_with_what_helps(repo: Path) -> None:
    found = build(repo, new="1\n", newer="1\n")
    for name in ("new", "newer"):
        (repo / name).write_text("of the person\n")
    landing = land(repo, found)
    assert landing.outcome == "busy"
    assert "overwritten by merge: new, newer" in landing.why
    assert "move them away" in landing.why
    (repo / "new").unlink()
    (repo / "newer").unlink()
    assert land(repo, found).outcome == "landed"


def test_a_staged_rename_is_one_file(repo: Path) -> None:
    found = build(repo)
    git(repo, "mv", "README.md", "README")
    assert "(README)" in land(repo, found).why


def test_git_am_under_way_is_not_pulled_from_under_it(repo: Path) -> None:
    found = build(repo)
    patch = repo.parent / "patch"
    patch.write_text("From: A <a@b>\nSubject: x\n\n---\n--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n")
    subprocess.run(["git", "am", str(patch)], cwd=repo, capture_output=True, check=False)
    landing = land(repo, found)
    assert (landing.outcome, "git am is under way" in landing.why) == ("busy", True)
    git(repo, "am", "--abort")
    assert land(repo, found).outcome == "landed"


@pytest.mark.parametrize("options", ["--squash", "--no-commit --no-ff", "--signoff --log --edit", "--nonsense"])
def test_options_of_the_branch_do_not_count(repo: Path, options: str) -> None:
    git(repo, "config", "branch.main.mergeOptions", options)
    found = build(repo)
    assert land(repo, found).outcome == "landed"
    assert git(repo, "rev-parse", "main") == found.steps[0].commit
    assert git(repo, "status", "--porcelain") == ""


def test_a_branch_that_is_switched_to_in_that_moment_is_put_back(
    repo: Path, own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = build(repo)
    git(repo, "branch", "mine")
    wrapped_git(own_directory, monkeypatch, f"cd {repo} && git switch --quiet mine")
    landing = land(repo, found)
    assert (landing.outcome, "switched to mine" in landing.why, "put back" in landing.why) == ("moved", True, True)
    assert git(repo, "rev-parse", "mine", "main").split() == [found.base, found.base]
    assert git(repo, "status", "--porcelain") == ""


def test_one_that_is_broken_off_is_told_with_how_to_undo_it(
    repo: Path, own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, {".gitattributes": "*.slow filter=slow\n"})
    found = build(repo, **{"README.md": "# New\n", "z.slow": "1\n"})
    git(repo, "config", "filter.slow.smudge", "sleep 86397; cat")
    monkeypatch.setattr(merge_target, "_BRINGING_SECONDS", 1.0)
    landing = land(repo, found)
    assert landing.outcome == "busy"
    assert "was interrupted" in landing.why
    assert "stash --include-untracked" in landing.why
    assert not (repo / ".git" / "index.lock").exists()
    assert git(repo, "rev-parse", "main") == found.base
    git(repo, "config", "filter.slow.smudge", "cat")
    git(repo, "stash", "--include-untracked", "--quiet")
    assert land(repo, found).outcome == "landed"
    (repo / "README.md").write_text("# Mine\n")
    assert "interrupted" not in target_checkouts.busy(str(repo), str(repo / ".git"), "main", "refs/heads/main")


def test_a_merge_commit_or_a_target_that_is_gone_is_made_anew(repo: Path) -> None:
    found = build(repo)
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "--quiet", "--prune=now")
    landing = land(repo, found)
    assert (landing.outcome, "is gone" in landing.why) == ("moved", True)
    git(repo, "branch", "--move", "main", "trunk")
    assert land(repo, found) == Landing(outcome="moved", why="main is gone")


def test_a_submodule_is_its_path_and_everything_below(repo: Path) -> None:
    where = repo.parent / "scratch"
    head = git(repo, "rev-parse", "main")
    git(repo, "worktree", "add", "--quiet", "-b", "odd", str(where), "main")
    git(where, "update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    git(where, "commit", "--quiet", "--message=Odd")
    found = asyncio.run(merging.look(repo=str(repo), directory="", branch="odd", target="main"))
    assert found.paths == [b"lib", b"lib/"]
    assert not found.ignore_case
    git(repo, "config", "core.ignorecase", "true")
    assert asyncio.run(merging.look(repo=str(repo), directory="", branch="odd", target="main")).ignore_case


class TestWorkspacesOfGates:
    @pytest.fixture
    def checkouts(self, own_directory: Path) -> MergeCheckouts:
        return MergeCheckouts(Places(str(own_directory / "h"), str(own_directory / "r")))

    def make(self, checkouts: MergeCheckouts, repo: Path) -> Path:
        head = git(repo, "rev-parse", "main")
        return Path(asyncio.run(checkouts.make(team="shop", repo=str(repo), commit=head)))

    @pytest.mark.parametrize("how", [["--cone"], ["--no-cone"]])
    def test_has_also_what_a_person_left_out(self, checkouts: MergeCheckouts, repo: Path, how: list[str]) -> None:
        commit(repo, {"deep/in/file": "1\n"})
        git(repo, "sparse-checkout", "set", *how, "src")
        path = self.make(checkouts, repo)
        assert (path / "deep" / "in" / "file").exists()
        assert git(path, "status", "--porcelain") == ""
        assert git(path, "ls-files", "-t").count("S ") == 0
        assert not (repo / "deep").exists(), "the person's checkout stays as it is"

    def test_goes_however_little_may_be_written_in_it(
        self, checkouts: MergeCheckouts, repo: Path, own_directory: Path
    ) -> None:
        path = self.make(checkouts, repo)
        outside = own_directory / "outside"
        outside.mkdir()
        (path / "cache" / "deep").mkdir(parents=True)
        (path / "cache" / "deep" / "link").symlink_to(outside)
        for directory in (path / "cache" / "deep", path / "cache", outside):
            directory.chmod(0o555)
        make_removable(str(path))
        modes = [directory.stat().st_mode & 0o777 for directory in (path / "cache" / "deep", path / "cache", outside)]
        assert modes == [0o755, 0o755, 0o555]
        (path / "cache").chmod(0)
        assert asyncio.run(checkouts.clear(team="shop", repo=str(repo))) == []
        assert not path.exists()

    def test_is_another_one_if_the_one_before_will_not_go(
        self, checkouts: MergeCheckouts, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = self.make(checkouts, repo)
        remove = MergeCheckouts._remove

        def stuck(repo: str, path: str) -> None:
            if path == str(first):
                raise PermissionError(f"{path} is in use")
            remove(repo, path)

        monkeypatch.setattr(MergeCheckouts, "_remove", staticmethod(stuck))
        second = self.make(checkouts, repo)
        assert second != first
        assert (second / "README.md").exists()
        (left,) = asyncio.run(checkouts.clear(team="shop", repo=str(repo)))
        assert str(first) in left
        assert not second.exists()

    def test_that_a_gate_removed_itself_is_forgotten_by_git(self, checkouts: MergeCheckouts, repo: Path) -> None:
        path = self.make(checkouts, repo)
        subprocess.run(["rm", "-rf", str(path.parent)], check=True)
        assert asyncio.run(checkouts.clear(team="shop", repo=str(repo))) == []
        assert "prunable" not in git(repo, "worktree", "list", "--porcelain")
