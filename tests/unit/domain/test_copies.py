"""How a copy of a repository follows it, and whose agents work in one."""

from dataclasses import replace

import pytest

from corral.domain.copies import THEIRS, copy_beside, followed, guest_of
from tests.support.records import AGENT, TEAM

A, B, C = "a" * 40, "b" * 40, "c" * 40


def copy_of(**brought: str) -> dict[str, str]:
    """A copy in which nobody has changed anything: the branches it was brought."""
    refs = {f"refs/heads/{name.replace('__', '/')}": commit for name, commit in brought.items()}
    return refs | {THEIRS + ref.removeprefix("refs/"): commit for ref, commit in refs.items()}


def after(here: dict[str, str], there: dict[str, str], *pinned: str) -> dict[str, str]:
    """The branches of the copy by then, as git would move them: each step whole, from where each ref is."""
    now = dict(here)
    for step in followed(here, {f"refs/heads/{name}": commit for name, commit in there.items()}, pinned):
        for move in step:
            assert now.get(move.ref, "") == move.old, move
            if move.new:
                taken = [ref for ref in now if ref.startswith(f"{move.ref}/") or move.ref.startswith(f"{ref}/")]
                assert not taken, "git has no place for it"
                now[move.ref] = move.new
            else:
                del now[move.ref]
    theirs = {ref.removeprefix(f"{THEIRS}heads/") for ref in now if ref.startswith(THEIRS)}
    assert theirs == set(there), "what was brought is noted, whatever became of it"
    return {ref.removeprefix("refs/heads/"): commit for ref, commit in now.items() if not ref.startswith(THEIRS)}


def test_what_nobody_changed_follows() -> None:
    assert after({}, {"main": A, "old": B}) == {"main": A, "old": B}
    assert after(copy_of(main=A, old=B), {"main": C, "new": B}) == {"main": C, "new": B}
    assert followed(copy_of(main=A), {"refs/heads/main": A}, ()) == [], "nothing moves if nothing did"


@pytest.mark.parametrize("there", [{"main": B}, {}])
def test_what_was_changed_in_the_copy_stays(there: dict[str, str]) -> None:
    assert after(copy_of(main=A) | {"refs/heads/main": C}, there) == {"main": C}
    assert after({ref: at for ref, at in copy_of(main=A).items() if ref != "refs/heads/main"}, there) == {}


def test_what_is_checked_out_stays() -> None:
    assert after(copy_of(main=A), {"main": B}, "refs/heads/main") == {"main": A}


def test_a_branch_of_the_copy_that_is_called_as_one_that_is_new_stays() -> None:
    assert after({"refs/heads/mine": C}, {"mine": A}) == {"mine": C}


def test_a_branch_and_branches_below_it_take_turns() -> None:
    assert after(copy_of(a=A), {"a/b": B}) == {"a/b": B}
    assert after(copy_of(a__b=A, a__c=A), {"a": B}) == {"a": B}
    assert after(copy_of(a__b=A) | {"refs/heads/a/mine": C}, {"a": B}) == {"a/mine": C}


def test_an_agent_of_another_user_with_a_worktree_works_in_a_copy() -> None:
    team = replace(TEAM, user="ann")
    agent = replace(AGENT, workspace_kind="worktree", workspace="/srv/bot/shop/a", run_as="bot")
    assert guest_of(team, agent) == "bot"
    assert copy_beside(agent.workspace) == "/srv/bot/shop/.corral-copy.git"
    for other in (replace(agent, run_as="ann"), replace(agent, run_as=""), replace(agent, workspace_kind="shared")):
        assert guest_of(team, other) == ""
