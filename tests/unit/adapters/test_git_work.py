"""Commits that HEAD was moved away from, as its reflog tells."""

from corral.adapters.git.work import left_behind


def test_a_commit_that_was_left_counts() -> None:
    moves = ["aaa checkout: moving from bbb to main", "bbb commit: On no branch", "aaa "]
    assert left_behind(moves) == ["bbb", "aaa"]


def test_a_commit_that_was_thrown_back_counts() -> None:
    assert left_behind(["aaa reset: moving to HEAD~1", "bbb commit: More"]) == ["bbb"]


def test_what_was_amended_or_rebased_lives_on_in_what_replaced_it() -> None:
    assert left_behind(["ccc commit (amend): Better", "bbb commit: First try", "aaa "]) == ["aaa"]
    assert left_behind(["ddd rebase (start): checkout main", "bbb commit: More", "aaa "]) == ["aaa"]
    assert left_behind(["ddd pull --rebase (start): checkout fff", "bbb commit: More"]) == []


def test_no_reflog_is_nothing_left() -> None:
    assert left_behind([]) == []
    assert left_behind(["aaa "]) == []
