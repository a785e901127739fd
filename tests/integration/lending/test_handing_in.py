"""What an agent of another user commits comes into the repository, and moves the one branch that is its own."""

import os
from dataclasses import replace
from typing import Any

import pytest

from corral.adapters.git.handing_in import HandedIn
from corral.adapters.git.lending import GitLending
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from tests.integration.lending.scene import BRANCH, Both


def test_what_one_commits_comes_into_the_repository_and_what_is_new_there_comes_back(both: Both) -> None:
    worktree = both.worktree()
    assert both.git(worktree, "rev-parse", "HEAD") == both.git(both.repo, "rev-parse", "HEAD")
    tip = both.commit(worktree, "one")
    assert both.work() == "1 commit that is nowhere else"
    both.hand_in(tip)
    assert both.branch() == tip
    both.git(both.repo, "merge", "--quiet", "--no-ff", "--message", "merged", BRANCH)
    both.bring()
    for name in ("main", "refs/corral/theirs/heads/main"):
        assert both.git(worktree, "rev-parse", name) == both.git(both.repo, "rev-parse", "main")
    assert both.git(worktree, "rev-parse", "HEAD") == tip, "its own branch is where it left it"
    assert both.work() == "", "all of it is on main"
    assert both.git(both.repo, "fsck", "--strict", "--no-dangling") == ""
    assert os.listdir(both.places.incoming) == []


def test_each_move_of_its_branch_is_in_the_journal(both: Both) -> None:
    worktree = both.worktree()
    first = both.commit(worktree, "one")
    both.hand_in(first)
    both.hand_in(first)
    second = both.commit(worktree, "two")
    both.hand_in(second)
    seen = both.do(both.store.events(agent="bot", named=["agent.handed_in"]))
    assert [
        (event.data["branch"], event.data["before"], event.data["commit"], event.data["user"]) for event in seen
    ] == [
        (BRANCH, "", first, "bot"),
        (BRANCH, first, second, "bot"),
    ]


def test_what_it_rewrites_takes_the_place_of_what_it_handed_in_and_of_nothing_else(both: Both) -> None:
    worktree = both.worktree()
    both.hand_in(both.commit(worktree, "one"))
    both.git(worktree, "commit", "--quiet", "--amend", "--message", "better")
    tip = both.git(worktree, "rev-parse", "HEAD")
    both.hand_in(tip)
    assert both.branch() == tip
    # She works on it as well, while nobody has it checked out.
    both.git(both.repo, "switch", "--quiet", BRANCH)
    with pytest.raises(RefusedError, match="is checked out in"):
        both.hand_in(both.commit(worktree, "two"))
    hers = both.commit(both.repo, "hers")
    both.git(both.repo, "switch", "--quiet", "main")
    with pytest.raises(RefusedError, match="has commits that bot has not"):
        both.hand_in(both.git(worktree, "rev-parse", "HEAD"))
    assert both.branch() == hers
    both.bring()
    both.git(worktree, "merge", "--quiet", "--message", "both", f"refs/corral/theirs/heads/{BRANCH}")
    both.hand_in(both.git(worktree, "rev-parse", "HEAD"))
    assert both.git(both.repo, "merge-base", "--is-ancestor", hers, BRANCH) == ""


def test_what_cannot_come_in_is_told_once_and_forgotten_when_it_can(both: Both) -> None:
    worktree = both.worktree()
    both.git(both.repo, "switch", "--quiet", "--create", BRANCH)
    tip = both.commit(worktree, "one")
    for _ in range(2):
        both.bring()
    (reason,) = both.told()
    assert f"{BRANCH} is checked out in {both.repo}" in reason
    with pytest.raises(RefusedError, match="what bot committed did not come in"):
        both.hand_in(tip)
    # It is not so any more, because it takes it back.
    both.git(worktree, "reset", "--quiet", "--hard", "HEAD~")
    both.hand_in(both.git(worktree, "rev-parse", "HEAD"))
    both.git(both.repo, "switch", "--quiet", "main")
    both.hand_in(tip)
    assert both.branch() == tip


def test_who_works_in_the_repository_now_is_not_told_of_what_was(both: Both) -> None:
    worktree = both.worktree()
    both.git(both.repo, "switch", "--quiet", "--create", BRANCH)
    both.commit(worktree, "one")
    both.bring()
    team, agent = both.do(both.up())
    both.do(both.lending.hand_in(team, replace(agent, run_as="")))


def test_a_keeper_that_is_killed_when_the_branch_has_moved_is_no_matter(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = both.worktree()
    both.hand_in(both.commit(worktree, "one"))
    tip, note, notes = both.commit(worktree, "two"), HandedIn._note, list[object]()

    def killed(*words: Any) -> None:
        notes.append(words)
        if len(notes) == 2:
            raise CorralError("killed")
        note(*words)

    monkeypatch.setattr(HandedIn, "_note", killed)
    both.bring()
    assert both.branch() == tip
    both.git(worktree, "commit", "--quiet", "--amend", "--message", "better")
    tip = both.git(worktree, "rev-parse", "HEAD")
    both.hand_in(tip)
    assert both.branch() == tip


def test_what_a_keeper_that_was_killed_had_taken_in_is_removed_by_the_next_one(both: Both) -> None:
    async def scene() -> None:
        await both.owner.receive_pack(directory=str(both.repo), apart=True)
        killed = both.owner._lending
        assert len(os.listdir(both.places.incoming)) == 1
        following = GitLending(both.places)
        following.begin()
        assert not os.path.exists(both.places.incoming)
        await following.receive_pack(str(both.repo), apart=True)
        following.end()
        assert os.listdir(both.places.incoming) == [], "one that ends in order leaves nothing either"
        assert isinstance(killed, GitLending)
        killed.end()

    both.do(scene())


def test_a_pack_that_is_not_under_way_is_told_and_one_that_was_dropped_leaves_nothing(both: Both) -> None:
    async def scene() -> None:
        with pytest.raises(NotFoundError):
            await both.owner.read_pack("nothing")
        pack = await both.owner.receive_pack(directory=str(both.repo), apart=True)
        await both.owner.write_pack(pack, b"PACK")
        await both.owner.drop_pack(pack)
        assert os.listdir(both.places.incoming) == []
        with pytest.raises(NotFoundError):
            await both.owner.write_pack(pack, b"x")

    both.do(scene())
