"""Which branch a worktree is on: the plain one, or one that carries the instance where the plain one is taken."""

import pytest

from corral.adapters.git.branches import Names, Survey, choose, guess
from corral.domain.errors import RefusedError
from corral.domain.names import is_valid

NAMES = Names.of("shop", "a", "0123456789ab")
PLAIN, OWN = "corral/shop/a", "corral/shop/a.0123456789ab"
OURS, THEIRS = "/ours/worktrees/shop/a", "/theirs/worktrees/shop/a"


def seen(*branches: str, **holders: str) -> Survey:
    by_branch = {{"plain": PLAIN, "own": OWN}[key]: path for key, path in holders.items()}
    return Survey(common="/r/.git", branches=branches, worktrees=[], holders=by_branch)


def test_no_other_agent_can_have_the_branch_that_carries_the_instance() -> None:
    assert (NAMES.plain, NAMES.own) == (PLAIN, OWN)
    assert not is_valid(OWN.rpartition("/")[2])
    assert not OWN.startswith(PLAIN + "/")


@pytest.mark.parametrize(
    ("survey", "branch"),
    [
        (seen(), PLAIN),
        (seen(PLAIN), PLAIN),
        (seen(PLAIN, plain=OURS), PLAIN),
        (seen(PLAIN, plain=THEIRS), OWN),
        (seen(PLAIN, OWN, plain=THEIRS), OWN),
        # What we had last time is gone on with, also when the plain one is free by now.
        (seen(OWN), OWN),
        (seen(PLAIN, OWN), OWN),
        # A branch below the plain name rules that name out, and not the other.
        (seen("corral/shop/a/part"), OWN),
    ],
)
def test_a_new_worktree_gets_a_branch_that_nobody_has(survey: Survey, branch: str) -> None:
    assert choose(NAMES, survey, OURS, "/r") == branch


@pytest.mark.parametrize("blocker", ["corral", "corral/shop"])
def test_a_branch_that_rules_out_both_is_named_with_the_way_out(blocker: str) -> None:
    with pytest.raises(RefusedError) as refused:
        choose(NAMES, seen(blocker), OURS, "/my r")
    assert f"the branch {blocker} of /my r is in the way" in refused.value.message
    assert f"git -C '/my r' branch -m {blocker} NEW-NAME" in refused.value.remedy


def test_both_taken_is_refused_with_the_place() -> None:
    with pytest.raises(RefusedError) as refused:
        choose(NAMES, seen(PLAIN, OWN, plain=THEIRS, own="/mine"), OURS, "/r")
    assert "/mine" in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("survey", "head", "branch"),
    [
        (seen(PLAIN), PLAIN, PLAIN),
        (seen(PLAIN, OWN), OWN, OWN),
        (seen(PLAIN), "feature", PLAIN),
        (seen(PLAIN, OWN, plain=THEIRS), "feature", OWN),
        (seen(PLAIN, plain=THEIRS), "feature", OWN),  # never the one of somebody else
        (seen(PLAIN), "", PLAIN),
    ],
)
def test_without_a_note_the_branch_is_guessed_and_never_somebody_elses(survey: Survey, head: str, branch: str) -> None:
    assert guess(NAMES, survey, OURS, head) == branch
