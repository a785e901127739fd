"""What is one for all worktrees is moved by whom it belongs to: branches, tags, the stash, the target of the queue."""

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


def test_the_stash_of_the_person_is_not_cleared(team: Guarded) -> None:
    for text in ("one\n", "two\n"):
        (team.repo / "README.md").write_text(text)
        repos.git(team.repo, "stash", "--quiet")
    team.git("a", "stash", "clear").refused("one for all worktrees")
    team.git("a", "pack-refs", "--all").ok()
    team.git("a", "stash", "clear").refused("one for all worktrees")
    assert len(repos.git(team.repo, "stash", "list").splitlines()) == 2


def test_no_tag_makes_known_what_was_never_allowed(team: Guarded) -> None:
    """What a tag has counts as known, so a tag is looked at as a branch is; what is fetched is others' doing."""
    team.holds("b", "src/")
    team.write("a", "src/main.py")
    tree = team.git("a", "write-tree").ok().out.strip()
    commit = team.git("a", "commit-tree", tree, "-p", "HEAD", "-m", "by hand").ok().out.strip()
    team.git("a", "tag", "way-round", commit).refused("src/main.py")
    team.git("a", "tag", "--annotate", "--message=x", "way-round", commit).refused("src/main.py")
    team.git("a", "tag", "mark").ok()
    team.git("a", "tag", "--force", "mark", commit).refused("src/main.py")
    team.git("a", "tag", "of-a-file", "HEAD:README.md").ok()
    elsewhere = team.repo.parent / "elsewhere"
    repos.git(team.repo, "clone", "--quiet", str(team.repo), str(elsewhere))
    (elsewhere / "src" / "main.py").write_text("released\n")
    repos.git(elsewhere, "commit", "--quiet", "--all", "--message=Release")
    repos.git(elsewhere, "tag", "v1")
    team.git("a", "-c", "fetch.prune=false", "fetch", "--quiet", str(elsewhere), "refs/tags/v1:refs/tags/v1").ok()
    team.git("a", "reset", "--quiet", "--hard").ok()
    team.git("a", "checkout", "--quiet", "v1").ok()


def test_a_branch_that_was_to_become_the_target_is_not_lost(team: Guarded) -> None:
    """git takes the old name away before it asks about the new one."""
    repos.git(team.repo, "switch", "--quiet", "--create", "elsewhere")
    team.commit("a", "src/mine.py").ok()
    mine, main = team.tip("a"), repos.git(team.repo, "rev-parse", "main")
    team.git("a", "branch", "-M", "main").refused("corral merge submit")
    assert team.tip("a") == mine
    assert "Change 'src/mine.py'" in team.git("a", "reflog", "show", "corral/shop/a").ok().out
    team.git("a", "branch", "feature").ok()
    team.git("a", "branch", "-M", "feature", "main").refused("corral merge submit")
    assert repos.git(team.repo, "rev-parse", "main", "feature").split() == [main, mine]
    team.git("a", "branch", "-m", "feature", "another").ok()
    team.git("a", "branch", "-d", "another").ok()


def test_the_branch_of_another_agent_is_moved_by_nobody_else(team: Guarded) -> None:
    team.commit("b", "src/theirs.py").ok()
    theirs, branch = team.tip("b"), "corral/shop/b"
    for packed in (False, True):
        if packed:
            team.git("a", "pack-refs", "--all").ok()
        team.git("a", "update-ref", f"refs/heads/{branch}", "HEAD").refused(f"{branch} is the branch of shop/b")
        team.git("a", "update-ref", "-d", f"refs/heads/{branch}").refused("corral msg send shop/b")
        assert repos.git(team.repo, "rev-parse", branch) == theirs
    team.git("a", "merge", "--quiet", "--no-edit", branch).ok()
    team.commit("b", "src/theirs.py").ok()


def test_git_that_tells_of_symbolic_refs_goes_on(team: Guarded) -> None:
    """Since 2.46 it does, when another branch is checked out; and a commit's old value may be zeros."""
    team.holds("b", "src/")
    lease = team.holds("a", "README.md")
    team.commit("a", "README.md").ok()
    team.release("a", lease)
    zero, branch = "0" * 40, "refs/heads/corral/shop/a"
    team.transaction("a", f"{zero} ref:refs/heads/other HEAD").ok()
    team.transaction("a", f"ref:{branch} ref:refs/heads/other HEAD").ok()
    team.holds("b", "README.md")
    tree = team.git("a", "rev-parse", "HEAD^{tree}").ok().out.strip()
    said_better = team.git("a", "commit-tree", tree, "-p", "HEAD^", "-m", "better").ok().out.strip()
    team.transaction("a", f"{zero} {said_better} HEAD", f"{team.tip('a')} {said_better} {branch}").ok()
    team.transaction("a", f"{zero} {said_better} HEAD").ok()
    team.write("a", "src/main.py")
    tree = team.git("a", "write-tree").ok().out.strip()
    bad = team.git("a", "commit-tree", tree, "-p", "HEAD", "-m", "bad").ok().out.strip()
    team.transaction("a", f"{zero} {bad} HEAD").refused("src/main.py")


def test_a_stash_of_the_persons_does_not_keep_git_from_tidying_up(team: Guarded) -> None:
    (team.repo / "README.md").write_text("half done\n")
    repos.git(team.repo, "stash", "--quiet")
    team.git("a", "pack-refs", "--all").ok()
    team.git("a", "gc", "--quiet").ok()
    assert repos.git(team.repo, "stash", "list") != ""


def test_the_target_of_the_merge_queue_is_moved_by_the_queue_alone(team: Guarded) -> None:
    target = repos.git(team.repo, "symbolic-ref", "--short", "HEAD")
    before = repos.git(team.repo, "rev-parse", target)
    # Nobody has it checked out: then git itself would refuse some of it.
    repos.git(team.repo, "checkout", "--quiet", "--detach")
    team.commit("a", "src/mine.py").ok()
    for words in (
        ("update-ref", f"refs/heads/{target}", "HEAD"),
        ("push", "--quiet", ".", f"HEAD:{target}"),
        ("fetch", "--quiet", ".", f"HEAD:{target}"),
        ("branch", "--force", target, "HEAD"),
    ):
        team.git("a", *words).refused(f"{target} is moved by the team's merge queue", "corral merge submit")
    assert repos.git(team.repo, "rev-parse", target) == before
    team.git("a", "gc", "--quiet").ok()  # packs the ref, and moves nothing
    team.git("b", "checkout", "--quiet", target).ok()
    team.commit("b", "src/theirs.py").refused("corral merge submit")
    team.up('[enforcement]\ntarget = "allow"')
    team.git("a", "update-ref", f"refs/heads/{target}", "HEAD").ok()


def test_the_stash_is_guarded_and_nothing_is_lost_by_it(team: Guarded) -> None:
    team.write("a", "README.md")
    team.git("a", "stash").refused("one for all worktrees", "git commit -m wip", "[enforcement]")
    assert "changed" in team.git("a", "diff", "HEAD").out
    assert repos.git(team.repo, "stash", "list") == ""
    team.up('[enforcement]\nstash = "allow"')
    team.git("a", "stash").ok()
    assert team.git("a", "diff", "HEAD").out == ""
    team.up()
    # git asks no hook before it takes something out; to refuse the rest of that would leave half of it.
    team.git("a", "stash", "pop").ok()
    assert "changed" in team.git("a", "diff", "HEAD").out
