"""A copy follows its repository, keeps what was done in it, and goes when nothing is in it alone."""

import os
from pathlib import Path

import pytest

from corral.domain.copies import COPY
from corral.domain.errors import CorralError, RefusedError
from tests.integration.lending.scene import BRANCH, Both
from tests.support import repos


def test_a_branch_that_is_changed_in_the_copy_is_left_as_it_is_there_and_counts_as_work(both: Both) -> None:
    both.git(both.repo, "branch", "old")
    worktree = both.worktree()
    both.git(worktree, "branch", "-D", "old")
    both.git(worktree, "switch", "--quiet", "main")
    mine = both.commit(worktree, "mine")
    both.git(worktree, "switch", "--quiet", BRANCH)
    both.git(worktree, "branch", "feature/x", BRANCH)
    hers = both.commit(both.repo, "hers")
    both.git(both.repo, "branch", "feature")
    both.bring()
    assert both.git(worktree, "rev-parse", "main") == mine
    assert both.git(worktree, "rev-parse", "refs/corral/theirs/heads/main") == hers
    branches = both.git(worktree, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert branches == [BRANCH, "feature/x", "main"], "old was deleted there, and feature has no place"
    assert both.work() == "1 commit that is nowhere else", "it goes with the copy, whatever branch it is on"


def test_branches_of_agents_that_work_elsewhere_follow_and_its_own_do_not(both: Both) -> None:
    others = "corral/shop/api"
    both.git(both.repo, "branch", others)
    worktree = both.worktree()
    both.hand_in(tip := both.commit(worktree, "one"))
    both.git(worktree, "switch", "--quiet", "--detach")
    both.commit(both.repo, "two")
    for branch in (others, BRANCH):
        both.git(both.repo, "branch", "--force", branch, "main")
    both.bring()
    assert both.git(worktree, "rev-parse", others) == both.branch("main"), "it can merge what the other has committed"
    assert both.git(worktree, "rev-parse", BRANCH) == tip
    both.git(both.repo, "branch", "-D", others)
    both.bring()
    assert others not in both.git(worktree, "branch", "--list", "corral/*").split()


def test_a_stash_goes_with_the_copy_so_it_is_work(both: Both) -> None:
    worktree = both.worktree()
    assert both.work() == ""
    (worktree / "README.md").write_text("later")
    both.git(worktree, "stash")
    assert both.work() == "2 commits that are nowhere else"


def test_a_branch_takes_the_place_of_branches_below_it_and_the_other_way_round(both: Both) -> None:
    both.git(both.repo, "branch", "a/b")
    both.git(both.repo, "branch", "c")
    both.bring()
    for words in (("-D", "a/b"), ("a",), ("-D", "c"), ("c/d",)):
        both.git(both.repo, "branch", *words)
    both.bring()
    listing = both.git(both.copy, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert listing == ["a", "c/d", "main"]


def test_a_copy_goes_when_nothing_is_in_it_alone(both: Both) -> None:
    worktree = both.worktree()

    def inspected() -> dict[str, str]:
        return {Path(one.path).name: one.why for one in both.do(both.workspaces.inspect("shop"))}

    def removed(agent: str, *, discard: bool = False) -> str:
        path = str(both.path.parent / agent)
        done = both.do(
            both.workspaces.remove(team="shop", agent=agent, path=path, repo=str(both.copy), discard=discard)
        )
        return done.why if done.removed else f"kept: {done.why}"

    assert inspected() == {"bot": ""}
    assert removed(COPY) == "kept: worktrees are of it"
    both.git(worktree, "branch", "mine", both.commit(worktree, "one"))
    both.git(worktree, "reset", "--quiet", "--hard", "HEAD~")
    assert removed("bot").startswith("kept: 1 commit"), "the branch goes with the copy"
    both.git(worktree, "worktree", "remove", "--force", "--force", str(worktree))
    assert inspected() == {COPY: "1 commit that is nowhere else"}
    assert removed(COPY).startswith("kept: 1 commit")
    assert removed(COPY, discard=True).startswith("discarded 1 commit")
    assert not both.copy.parent.exists()


def test_a_copy_of_another_repository_stays_for_the_work_in_it_and_else_makes_room(both: Both, tmp_path: Path) -> None:
    worktree = both.worktree()
    both.hand_in(both.commit(worktree, "one"))
    first, both.repo = both.repo, repos.make(tmp_path / "other", "bare")
    both.do(both.forget())
    with pytest.raises(RefusedError, match=r"is a copy of .*, with work in it, and not of"):
        both.bring()
    assert both.git(both.copy, "rev-parse", "main") == both.git(first, "rev-parse", "main")
    both.git(worktree, "worktree", "remove", "--force", "--force", str(worktree))
    both.git(both.copy, "branch", "-D", BRANCH)
    both.bring()
    assert both.git(both.copy, "rev-parse", "main") == both.git(both.repo, "rev-parse", "main")


def test_what_it_fetches_itself_without_its_history_stays_so(both: Both, tmp_path: Path) -> None:
    worktree = both.worktree()
    other = repos.make(tmp_path / "other")
    both.commit(other, "more")
    both.git(worktree, "fetch", "--quiet", "--depth=1", f"file://{other}", "main:theirs")
    for file in ("one", "two"):
        both.commit(both.repo, file)
        both.bring()
        assert both.git(worktree, "log", "--format=%s", "theirs") == "more"
    assert both.git(worktree, "log", "-1", "--format=%s", "main") == "two"


@pytest.mark.parametrize("kind", ["bare", "detached", "sha256", "shallow", "dirty"])
def test_repositories_of_every_kind_are_lent(both: Both, kind: str, tmp_path: Path) -> None:
    if kind == "bare":
        both.repo = repos.make(tmp_path / "other", "bare")
    elif kind == "dirty":
        both.repo = repos.make(tmp_path / "other", "dirty")
    elif kind == "detached":
        both.git(both.repo, "switch", "--quiet", "--detach")
    elif kind == "sha256":
        both.repo = tmp_path / "other"
        both.git(tmp_path, "init", "--quiet", "--object-format=sha256", "other")
        both.commit(both.repo, "begin")
    else:
        both.commit(both.repo, "second")
        both.git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{both.repo}", "other")
        both.repo = tmp_path / "other"
    worktree = both.worktree()
    tip = both.commit(worktree, "one")
    both.hand_in(tip)
    assert both.branch() == tip
    assert both.git(worktree, "log", "--format=%H") == both.git(both.repo, "log", "--format=%H", BRANCH)
    assert both.work() == "1 commit that is nowhere else"


def test_worktrees_begin_where_head_of_the_repository_is_also_at_a_commit_on_no_branch(both: Both) -> None:
    both.bring()
    both.git(both.repo, "branch", "other")
    both.git(both.repo, "switch", "--quiet", "--detach")
    tip = both.commit(both.repo, "in between")
    worktree = both.worktree()
    assert both.git(worktree, "rev-parse", "HEAD") == tip
    both.git(both.repo, "switch", "--quiet", "other")
    both.bring()
    assert both.git(both.copy, "symbolic-ref", "HEAD") == "refs/heads/other", "nothing else has changed"


def test_a_history_that_is_deepened_in_the_repository_is_so_in_the_copy(both: Both, tmp_path: Path) -> None:
    for name in ("second", "third"):
        both.commit(both.repo, name)
    both.git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{both.repo}", "other")
    both.repo = tmp_path / "other"
    worktree = both.worktree()
    both.git(both.repo, "fetch", "--quiet", "--unshallow")
    both.hand_in(both.commit(worktree, "one"))
    assert both.git(worktree, "log", "--format=%H") == both.git(both.repo, "log", "--format=%H", BRANCH)
    assert both.git(worktree, "fsck") == ""


def test_a_copy_that_a_worktree_elsewhere_is_of_stays_and_it_is_told(both: Both) -> None:
    worktree = both.worktree()
    both.git(worktree, "worktree", "add", "--quiet", "--detach", str(both.directory / "elsewhere"))
    (both.copy / "worktrees" / "nothing").mkdir()

    def removed(agent: str, *, discard: bool = False) -> str:
        path = str(both.path.parent / agent)
        done = both.do(
            both.workspaces.remove(team="shop", agent=agent, path=path, repo=str(both.copy), discard=discard)
        )
        return done.why if done.removed else f"kept: {done.why}"

    assert removed("bot") == ""
    why = f"the worktree {both.directory}/elsewhere is of it"
    assert [(one.path, one.why) for one in both.do(both.workspaces.inspect("shop"))] == [(str(both.copy), why)]
    assert removed(COPY) == f"kept: {why}"
    assert removed(COPY, discard=True) == f"discarded {why}"
    assert not both.copy.exists()


def test_a_copy_that_is_gone_is_not_made_again_by_looking_at_it(both: Both) -> None:
    with pytest.raises(CorralError):
        both.do(both._do(both.lending.exchange))
    assert not both.copy.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_room_that_is_closed_to_its_own_keeper_is_told_of(both: Both) -> None:
    both.worktree()
    both.path.parent.chmod(0)
    try:
        (found,) = both.do(both.workspaces.inspect("shop"))
    finally:
        both.path.parent.chmod(0o700)
    assert (found.path, found.in_the_way) == (str(both.path.parent), True)
