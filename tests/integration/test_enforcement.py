"""Leases bite in worktrees: git refuses to commit, in whatever way, what somebody else holds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import repos
from tests.support.guarded import Guarded
from tests.support.instance import Instance

Repo = Callable[..., Path]


@pytest.fixture
def team(instance: Instance, repo: Repo) -> Guarded:
    return Guarded(instance, repo())


def test_a_commit_of_what_somebody_else_holds_is_refused_and_names_the_holder(team: Guarded) -> None:
    lease = team.holds("b", "src/")
    before = team.tip("a")
    team.commit("a", "src/main.py").refused("shop/b", "src/", f"token {lease['token']}", "corral lease acquire")
    assert team.tip("a") == before
    team.git("a", "reset", "--quiet").ok()
    team.commit("a", "README.md").ok()
    team.commit("b", "src/main.py").ok()
    team.release("b", lease)
    team.commit("a", "src/main.py").ok()


def test_what_is_held_shared_refuses_no_commit(team: Guarded) -> None:
    team.holds("b", "--shared", "src/")
    team.commit("a", "src/main.py").ok()


def test_no_way_around_the_first_hook_is_open(team: Guarded) -> None:
    """`--no-verify` and plumbing skip `pre-commit`; the move of the branch is what counts."""
    team.holds("b", "src/")
    before = team.tip("a")
    team.commit("a", "src/main.py", "--no-verify").refused("shop/b")
    tree = team.git("a", "write-tree").ok().out.strip()
    commit = team.git("a", "commit-tree", tree, "-p", "HEAD", "-m", "by hand").ok().out.strip()
    team.git("a", "update-ref", "refs/heads/corral/shop/a", commit).refused("src/main.py")
    team.git("a", "branch", "other", commit).refused("src/main.py")
    team.git("a", "reset", "--hard", commit).refused("src/main.py")
    team.git("a", "checkout", "--quiet", "--detach", commit).refused("src/main.py")
    assert team.tip("a") == before


def test_cherry_pick_am_and_merge_are_refused_as_well(team: Guarded) -> None:
    """The changes are made anew, or come from a commit that no branch has."""
    team.commit("a", "src/main.py").ok()
    mine = team.tip("a")
    patch = team.git("a", "format-patch", "-1", "--stdout").ok().out
    team.git("a", "reset", "--quiet", "--hard", "HEAD^").ok()
    team.holds("b", "src/")
    team.git("a", "cherry-pick", mine).refused("src/main.py")
    team.git("a", "cherry-pick", "--abort").ok()
    file = team.repo.parent / "patch"
    file.write_text(patch)
    team.git("a", "am", str(file)).refused("src/main.py")
    team.git("a", "am", "--abort").ok()
    team.git("a", "commit", "--quiet", "--allow-empty", "--message=Another").ok()
    before = team.tip("a")
    team.git("a", "merge", "--quiet", "--no-edit", mine).refused("src/main.py")
    assert team.tip("a") == before


def test_a_rebase_stops_at_the_commit_that_is_refused_and_can_be_taken_back(team: Guarded) -> None:
    team.commit("a", "src/main.py").ok()
    mine = team.tip("a")
    repos.git(team.repo, "commit", "--quiet", "--allow-empty", "--message=Upstream")
    upstream = repos.git(team.repo, "rev-parse", "HEAD")
    lease = team.holds("b", "src/")
    team.git("a", "rebase", "--quiet", upstream).refused("src/main.py")
    team.git("a", "rebase", "--abort").ok()
    assert team.tip("a") == mine
    team.release("b", lease)
    team.git("a", "rebase", "--quiet", upstream).ok()


def test_what_others_committed_is_merged_though_they_hold_it(team: Guarded) -> None:
    """What is in the repository already is nobody's doing here, and a message can be mended."""
    team.commit("a", "src/own.py").ok()
    team.holds("b", "src/")
    team.commit("b", "src/main.py").ok()
    team.git("a", "merge", "--quiet", "--no-edit", "corral/shop/b").ok()
    team.git("a", "commit", "--quiet", "--amend", "--message=Better said").ok()
    team.write("a", "src/main.py")
    team.git("a", "commit", "--quiet", "--amend", "--no-edit", "--no-verify").refused("src/main.py")


def test_a_conflict_is_resolved_only_by_who_may_write_the_file(team: Guarded) -> None:
    lease = team.holds("a", "README.md")
    team.commit("a", "README.md").ok()
    team.release("a", lease)
    team.holds("b", "README.md")
    team.write("b", "README.md", "something else\n")
    team.git("b", "commit", "--quiet", "--message=Mine").ok()
    assert team.git("a", "merge", "--quiet", "corral/shop/b").code == 1
    (team.worktree("a") / "README.md").write_text("both\n")
    team.git("a", "add", "README.md").ok()
    team.git("a", "commit", "--quiet", "--message=Resolved").refused("README.md")
    team.git("a", "merge", "--abort").ok()


def test_both_sides_of_a_rename_count(team: Guarded) -> None:
    team.holds("b", "src/main.py", "new.py")
    team.git("a", "mv", "src/main.py", "elsewhere.py").ok()
    team.git("a", "commit", "--quiet", "--message=Away").refused("src/main.py")
    team.git("a", "reset", "--quiet", "--hard").ok()
    team.git("a", "mv", "README.md", "new.py").ok()
    team.git("a", "commit", "--quiet", "--message=Here").refused("new.py")


def test_a_branch_without_a_commit_is_checked_as_well(team: Guarded) -> None:
    team.holds("b", "src/")
    team.git("a", "checkout", "--quiet", "--orphan", "new").ok()
    team.git("a", "commit", "--quiet", "--message=All anew").refused("src/main.py")
    team.git("a", "rm", "--quiet", "--cached", "-r", "src").ok()
    team.git("a", "commit", "--quiet", "--message=All but that").ok()


def test_only_what_is_committed_counts(team: Guarded) -> None:
    team.holds("b", "src/")
    team.write("a", "src/main.py")
    team.write("a", "README.md")
    team.git("a", "commit", "--quiet", "--message=The other one", "README.md").ok()
    assert team.git("a", "show", "--name-only", "--format=").ok().out == "README.md\n"


def test_names_of_any_bytes_are_held_and_checked(team: Guarded) -> None:
    team.holds("b", "odd/")
    done = team.commit("a", b"odd/\xff\xfe\tname\n.txt").refused("odd/\\xff\\xfe\\tname\\n.txt")
    assert "\t" not in done.err
    team.git("a", "reset", "--quiet", "--hard").ok()
    team.commit("a", b"\xff[1]*.txt").ok()


def test_names_are_one_whatever_their_case_where_git_says_so(instance: Instance, repo: Repo) -> None:
    where = repo()
    repos.git(where, "config", "core.ignorecase", "true")
    team = Guarded(instance, where)
    team.holds("b", "Src/*.PY")
    team.commit("a", "src/main.py").refused("src/main.py")


def with_a_submodule(repo: Repo) -> tuple[Path, str]:
    """A repository with a submodule at `libs/inner`, and another commit that the submodule could be at."""
    where, inner = repo(), repo(name="inner")
    repos.git(where, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "libs/inner")
    repos.git(where, "commit", "--quiet", "--message=Have a submodule")
    return where, repos.git(inner, "commit-tree", "HEAD^{tree}", "-m", "other")


def test_a_submodule_is_one_path(instance: Instance, repo: Repo) -> None:
    where, other = with_a_submodule(repo)
    # What git is told not to show is there all the same.
    repos.git(where, "config", "submodule.libs/inner.ignore", "all")
    team = Guarded(instance, where)
    team.holds("b", "libs/")
    team.git("a", "update-index", "--cacheinfo", f"160000,{other},libs/inner").ok()
    team.git("a", "commit", "--quiet", "--message=Another one").refused("libs/inner")


@pytest.mark.parametrize("held", ["libs/inner/", "libs/inner/src/main.py", "**/*.py"])
def test_whoever_holds_something_in_a_submodule_holds_it_in_place(instance: Instance, repo: Repo, held: str) -> None:
    where, other = with_a_submodule(repo)
    team = Guarded(instance, where)
    team.holds("b", held)
    team.git("a", "update-index", "--cacheinfo", f"160000,{other},libs/inner").ok()
    team.git("a", "commit", "--quiet", "--message=Another one").refused("libs/inner/")
    team.git("a", "commit", "--quiet", "--no-verify", "--message=Another one").refused("libs/inner/")


def test_a_pointer_of_lfs_is_a_path_like_any_other(team: Guarded) -> None:
    team.holds("b", "*.bin")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    team.write("a", ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    file = team.repo.parent / "pointer"
    file.write_text(pointer)
    blob = team.git("a", "hash-object", "-w", str(file)).ok().out.strip()
    team.git("a", "update-index", "--add", "--cacheinfo", f"100644,{blob},big.bin").ok()
    team.git("a", "commit", "--quiet", "--message=Large").refused("big.bin")


def test_what_an_agent_does_all_day_goes_on(team: Guarded) -> None:
    team.holds("b", "src/")
    team.commit("a", "README.md").ok()
    repos.git(team.repo, "commit", "--quiet", "--allow-empty", "--message=Upstream")
    other = team.repo.parent / "other"
    for words in (
        ("switch", "--quiet", "--create", "feature"),
        ("commit", "--quiet", "--allow-empty", "--message=On it"),
        ("checkout", "--quiet", "-b", "second"),
        ("checkout", "--quiet", "corral/shop/a"),
        ("rebase", "--quiet", "main"),
        ("merge", "--quiet", "--no-edit", "feature"),
        ("revert", "--no-edit", "HEAD~1"),
        ("tag", "mark"),
        ("reset", "--quiet", "--hard", "HEAD^"),
        ("worktree", "add", "--quiet", str(other), "second"),
        ("worktree", "remove", str(other)),
        ("branch", "--quiet", "-D", "second"),
        ("symbolic-ref", "HEAD", "refs/heads/feature"),
        ("symbolic-ref", "HEAD", "refs/heads/corral/shop/a"),
        ("checkout", "--quiet", "--detach"),
        ("checkout", "--quiet", "corral/shop/a"),
        ("fetch", "--quiet", "."),
        ("gc", "--quiet"),
    ):
        team.git("a", *words).ok()
