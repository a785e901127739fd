"""Both sides hear of each other, without anybody asking."""

import asyncio

import pytest

from corral.domain import states
from tests.integration.lending.scene import BRANCH, Both


def test_that_a_branch_moves_is_told_also_of_one_in_a_new_directory(both: Both) -> None:
    async def scene() -> None:
        await both.owner.watch_branches(team="shop", directory=str(both.repo))
        for words in (("branch", "one"), ("branch", "deep/er/two"), ("branch", "-f", "deep/er/two", "one")):
            both.owner.told.clear()
            if words[1] == "-f":
                await asyncio.to_thread(both.git, both.repo, "commit", "--quiet", "--allow-empty", "--message=x")
            await asyncio.to_thread(both.git, both.repo, *words)
            await asyncio.wait_for(both.owner.told.wait(), 20)
        both.owner._lending.watch_no_more("shop")

    both.do(scene())


def test_both_follow_each_other_while_an_agent_runs_also_tags_and_branches_of_others(both: Both) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)
    for words in (("tag", "v1"), ("update-ref", "refs/remotes/origin/main", "main"), ("branch", "more")):
        both.git(both.repo, *words)
        name = words[1]
        both.until(lambda: both.git(worktree, "rev-parse", "--verify", "--quiet", name, check=False) != "")  # noqa: B023


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_waits_comes_in_when_its_branch_is_not_checked_out_any_more(both: Both, elsewhere: bool) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)
    hers = both.directory / "hers" if elsewhere else both.repo
    if elsewhere:
        both.git(both.repo, "worktree", "add", "--quiet", str(hers), BRANCH)
    else:
        both.git(hers, "switch", "--quiet", BRANCH)
    later = both.commit(worktree, "two")
    both.until_told(1)
    # As the refusal says. No branch moves by it.
    both.git(hers, *(("switch", "--quiet", "--detach") if elsewhere else ("switch", "--quiet", "main")))
    both.until(lambda: both.branch() == later)
    if elsewhere:
        both.git(hers, "switch", "--quiet", BRANCH)
        last = both.commit(worktree, "three")
        both.until_told(2)
        both.git(both.repo, "worktree", "remove", str(hers))
        both.until(lambda: both.branch() == last)


def test_one_that_has_not_started_yet_is_followed_from_when_it_has_a_worktree(both: Both) -> None:
    both.state = states.PENDING
    worktree = both.worktree()
    assert both.branch() == ""
    both.do(both.made())
    both.until(lambda: both.branch() == both.branch("main"))
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)


def test_a_team_that_is_down_and_up_again_is_followed_again(both: Both) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    both.do(both.unwatch())
    both.do(both.forget())
    both.since += 1
    both.bring()
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)


def test_keepers_that_come_in_the_place_of_others_are_asked_to_tell(both: Both) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    both.do(both.replace_keepers())
    tip = both.commit(worktree, "one")
    both.bring()
    assert both.branch() == tip
    tip = both.commit(worktree, "two")
    both.until(lambda: both.branch() == tip)
