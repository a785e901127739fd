"""Members in memory and in the store: changed together, journalled, and there again after a restart."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.domain.errors import BadPolicyError, CorralError, DeniedError, NotFoundError, RefusedError, WrongUseError
from corral.domain.members import Wanted
from corral.domain.roles import Tables
from corral.service.members import ADDED, CHANGED, REMOVED, UNCHANGED, Members
from tests.support.members import OLGA, ROOT, Crowd, crowd


def play(directory: Path, act: Callable[[Crowd], Awaitable[None]], policy: str = "") -> None:
    async def run() -> None:
        async with crowd(directory, policy) as one:
            await asyncio.wait_for(act(one), 30)

    asyncio.run(run())


def test_they_are_there_again_after_a_restart(tmp_path: Path) -> None:
    async def first(one: Crowd) -> None:
        await one.members.put(ROOT, Wanted(user="ann", role="senior", teams=("shop",)))
        await one.members.put(ROOT, Wanted(user="agent-builder", role="agent", of="ann"))
        await one.members.put(ROOT, Wanted(user="ben", role="junior"))
        await one.members.remove(ROOT, "ben", force=False)

    async def second(one: Crowd) -> None:
        assert [member.user for member in one.members.all()] == ["agent-builder", "ann"]
        ann = one.members.show("ann")
        assert (ann.uid, ann.role, ann.teams, ann.by, ann.since > 0) == (1001, "senior", ("shop",), "root", True)
        assert one.members.person_of("agent-builder") == "ann"
        assert one.members.agent_users("ann") == ["agent-builder"]

    play(tmp_path, first)
    play(tmp_path, second)


def test_who_waits_for_another_change_is_asked_about_when_that_is_made(tmp_path: Path) -> None:
    """Olga gives away a role while it is taken from her that she may."""

    async def act(one: Crowd) -> None:
        async def may_go_on() -> None:
            asked.append(one.members.show("olga").role)
            if asked[-1] != "owner":
                raise DeniedError("not any more", "", rule="no")

        asked: list[str] = []
        await one.members.put(ROOT, Wanted(user="olga", role="owner"))
        await one.members.put(ROOT, Wanted(user="ben", role="junior"))
        results = await asyncio.gather(
            one.members.put(ROOT, Wanted(user="olga", role="junior")),
            one.members.put(OLGA, Wanted(user="ann", role="owner"), may_go_on=may_go_on),
            one.members.remove(OLGA, "ben", force=False, may_go_on=may_go_on),
            return_exceptions=True,
        )
        assert [isinstance(result, DeniedError) for result in results] == [False, True, True]
        assert asked == ["junior", "junior"]
        assert [member.user for member in one.members.all()] == ["ben", "olga"]

    play(tmp_path, act)


def test_every_change_is_journalled_with_who_made_it_and_no_change_is_not(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        steps = [
            await one.members.put(ROOT, Wanted(user="ann", role="junior")),
            await one.members.put(ROOT, Wanted(user="ann", role="junior")),
            await one.members.put(OLGA, Wanted(user="ann", role="senior", teams=("shop",))),
            await one.members.remove(OLGA, "ann", force=False),
        ]
        assert [step.change for step in steps] == [ADDED, UNCHANGED, CHANGED, REMOVED]
        added, changed, removed = [event for event in await one.journal() if event.event.startswith("member.")]
        assert (added.event, added.who) == ("member.added", ROOT)
        assert added.data == {"user": "ann", "uid": 1001, "role": "junior", "teams": [], "of": ""}
        assert (changed.event, changed.who) == ("member.changed", OLGA)
        assert (changed.data["role"], changed.data["teams"]) == ("senior", ["shop"])
        assert changed.data["before"] == {"role": "junior", "teams": [], "of": ""}
        assert (removed.event, removed.data["role"]) == ("member.removed", "senior")

    play(tmp_path, act)


def test_looking_first_changes_nothing(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        assert (await one.members.put(OLGA, Wanted(user="ann", role="junior"), dry_run=True)).change == ADDED
        assert one.members.all() == []
        await one.members.put(OLGA, Wanted(user="ann", role="junior"))
        assert (await one.members.remove(OLGA, "ann", force=False, dry_run=True)).change == REMOVED
        assert [event.event for event in await one.journal()] == ["member.added"]
        assert one.members.get("ann") is not None

    play(tmp_path, act)


def test_whoever_is_not_in_the_group_is_refused_and_root_is_told_what_would_be(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        wanted = Wanted(user="dora", role="junior")
        for who, dry_run in ((OLGA, False), (OLGA, True), (ROOT, False)):
            with pytest.raises(RefusedError, match="not in the group corral-members"):
                await one.members.put(who, wanted, dry_run=dry_run)
        assert (await one.members.put(ROOT, wanted, dry_run=True)).change == ADDED
        assert one.members.all() == []

    play(tmp_path, act)


def test_a_user_of_agents_needs_the_other_group(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        await one.members.put(ROOT, Wanted(user="ann", role="junior"))
        with pytest.raises(RefusedError, match="not in the group corral-agents"):
            await one.members.put(ROOT, Wanted(user="ben", role="agent", of="ann"))
        with pytest.raises(RefusedError, match="not in the group corral-members"):
            await one.members.put(ROOT, Wanted(user="agent-builder", role="junior"))

    play(tmp_path, act)


def test_teams_that_are_up_hold_their_owner_and_those_that_their_agents_run_as(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        for wanted in (Wanted(user="ann", role="junior"), Wanted(user="agent-builder", role="agent", of="ann")):
            await one.members.put(ROOT, wanted)
        await one.up("shop", "ann", ("builder", "agent-builder"))
        with pytest.raises(RefusedError, match="teams of agent-builder are up: shop"):
            await one.members.remove(ROOT, "agent-builder", force=False)
        await one.members.remove(ROOT, "agent-builder", force=True)
        with pytest.raises(RefusedError, match="teams of ann are up: shop"):
            await one.members.remove(ROOT, "ann", force=False)
        gone = await one.members.remove(ROOT, "ann", force=True)
        assert (gone.left_up, one.members.all()) == (("shop",), [])

    play(tmp_path, act)


def test_a_host_has_the_roles_that_its_policy_has(tmp_path: Path) -> None:
    policy = tmp_path / "policy"
    policy.mkdir()
    (policy / "data.json").write_text(
        '{"tables": {"roles": {"auditor": {"grants": {"audit": ["any"]}}, "junior": null}}}'
    )

    async def act(one: Crowd) -> None:
        assert (await one.members.put(ROOT, Wanted(user="ann", role="auditor"))).member.role == "auditor"
        with pytest.raises(WrongUseError) as refused:
            await one.members.put(ROOT, Wanted(user="ben", role="junior"))
        assert refused.value.remedy == "there are: owner, senior, observer, agent, auditor"

    play(tmp_path, act, str(policy))


def test_with_a_policy_that_cannot_be_read_nobody_is_given_a_role(tmp_path: Path) -> None:
    def unreadable() -> Tables:
        raise BadPolicyError("data.json is no JSON", "mend it")

    async def act(one: Crowd) -> None:
        await one.members.put(ROOT, Wanted(user="ann", role="junior"))
        members = Members(one.context, one.accounts, unreadable)
        await members.load()
        with pytest.raises(BadPolicyError):
            await members.put(ROOT, Wanted(user="ann", role="owner"))
        assert [member.role for member in members.all()] == ["junior"]
        await members.remove(ROOT, "ann", force=False)

    play(tmp_path, act)


def test_a_store_that_refuses_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(one: Crowd) -> None:
        await one.members.put(ROOT, Wanted(user="ann", role="junior"))

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(one.store, "_commit", full)
            for change in (
                one.members.put(ROOT, Wanted(user="ann", role="owner")),
                one.members.put(ROOT, Wanted(user="ben", role="junior")),
                one.members.remove(ROOT, "ann", force=False),
            ):
                with pytest.raises(CorralError, match="full"):
                    await change
        assert [(member.user, member.role) for member in one.members.all()] == [("ann", "junior")]

    play(tmp_path, act)


def test_two_at_once_are_one_after_the_other(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        await one.members.put(ROOT, Wanted(user="ann", role="junior"))
        removed, added = await asyncio.gather(
            one.members.remove(ROOT, "ann", force=False),
            one.members.put(ROOT, Wanted(user="agent-builder", role="agent", of="ann")),
            return_exceptions=True,
        )
        assert not isinstance(removed, BaseException)
        assert isinstance(added, RefusedError), "nobody's user of agents is left with somebody who is gone"
        assert one.members.all() == []

    play(tmp_path, act)


def test_nobody_can_be_shown_or_removed_who_is_no_member(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        with pytest.raises(NotFoundError):
            one.members.show("ann")
        with pytest.raises(NotFoundError):
            await one.members.remove(ROOT, "ann", force=True)
        one.accounts.known["ann"] = replace(one.accounts.known["ann"], user="Ann")
        with pytest.raises(NotFoundError):
            await one.members.put(ROOT, Wanted(user="ann", role="junior"))

    play(tmp_path, act)


class TestNamesakes:
    def test_who_left_is_remembered_by_number_also_after_a_restart(self, tmp_path: Path) -> None:
        async def leaves(one: Crowd) -> None:
            await one.members.put(ROOT, Wanted(user="ben", role="junior"))
            await one.members.remove(ROOT, "ben", force=False)

        async def comes(one: Crowd) -> None:
            one.accounts.known["ben"] = replace(one.accounts.known["ben"], uid=1099)
            with pytest.raises(RefusedError, match="under uid 1002"):
                await one.members.put(ROOT, Wanted(user="ben", role="junior"))
            assert one.members.all() == []
            await one.members.put(ROOT, Wanted(user="ben", role="junior", inherits=True))

        async def is_there(one: Crowd) -> None:
            assert one.members.show("ben").uid == 1099
            # Who inherited is who it is from now on.
            await one.members.remove(ROOT, "ben", force=False)
            with pytest.raises(RefusedError, match="under uid 1099"):
                await one.members.put(ROOT, Wanted(user="ben", role="junior"))

        play(tmp_path, leaves)
        play(tmp_path, comes)
        play(tmp_path, is_there)
