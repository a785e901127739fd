"""What a policy is told of people and of what is theirs; and what is decided from that, by the policy that ships."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable
from pathlib import Path
from typing import TypeVar

import pytest

from corral.adapters.policy.rego_policy import RegoPolicy
from corral.adapters.policy.sources import read
from corral.domain.errors import WrongUseError
from corral.domain.members import Wanted
from corral.domain.policy import Caller, Target
from corral.service.policy_check import Asked, Explained, explain
from corral.service.sight import EVERYTHING, Whose
from tests.support.members import ROOT, Crowd, crowd

T = TypeVar("T")


def play(directory: Path, act: Callable[[Crowd], Awaitable[None]]) -> None:
    """With olga (owner), ann (junior, with a user of agents), ben (senior, in her team as well) and cleo (junior)."""

    async def run() -> None:
        async with crowd(directory) as one:
            for wanted in (
                Wanted(user="olga", role="owner"),
                Wanted(user="ann", role="junior"),
                Wanted(user="ben", role="senior", teams=("shop",)),
                Wanted(user="cleo", role="junior", teams=("shop", "later")),
                Wanted(user="agent-builder", role="agent", of="ann"),
            ):
                await one.members.put(ROOT, wanted)
            await one.up("shop", "ann", ("builder", "agent-builder"), ("tester", "ann"), ("new", ""))
            await one.up("bank", "ben", ("builder", "ben"))
            await asyncio.wait_for(act(one), 60)

    asyncio.run(run())


def test_people_are_in_their_own_teams_and_in_those_that_they_were_put_into(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        assert one.facts.caller("ann") == Caller(user="ann", uid=1001, member=True, role="junior", teams=("shop",))
        assert one.facts.caller("ben") == Caller(
            user="ben", uid=1002, member=True, role="senior", teams=("bank", "shop")
        )
        cleo = one.facts.caller("cleo")
        assert cleo is not None
        assert cleo.teams == ("later", "shop"), "also those that are not up yet"
        assert one.facts.caller("eve") is None

    play(tmp_path, act)


def test_root_is_an_owner_whatever_the_records_say(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        assert one.facts.caller("root") == Caller(user="root", uid=0, member=True, role="owner")

    play(tmp_path, act)


def test_whose_teams_and_agents_are(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        shop = {"team": "shop", "owner": "ann", "owner_role": "junior"}
        assert one.facts.target("shop", "") == Target(kind="team", **shop)
        for agent in ("builder", "tester", "new"):  # by its user's person, by its user, and by its team
            assert one.facts.target("shop", agent) == Target(kind="agent", agent=agent, **shop)
        assert one.facts.target("bank", "builder") == Target(
            kind="agent", team="bank", agent="builder", owner="ben", owner_role="senior"
        )
        assert one.facts.target("shop", "nobody") is None
        assert one.facts.target("none", "") is None
        await one.members.remove(ROOT, "agent-builder", force=True)
        await one.members.remove(ROOT, "ann", force=True)
        left = one.facts.target("shop", "tester")
        assert left is not None
        assert (left.owner, left.owner_role) == ("ann", ""), "still hers, and nobody looks after her"

    play(tmp_path, act)


async def decided(one: Crowd, **asked: object) -> Explained:
    policy = RegoPolicy(read(), 30.0)
    try:
        await policy.start()
        told = await one.facts.as_told(EVERYTHING, "olga")
        return await explain(policy, told, told.meant(Asked(**asked)))  # type: ignore[arg-type]
    finally:
        await policy.close()


@pytest.mark.parametrize(
    ("who", "verb", "on", "allow", "rule"),
    [
        ("ben", "attach", "ann/builder", True, "senior.steer.below"),
        ("cleo", "attach", "ann/builder", False, "junior.steer"),
        ("ann", "attach", "ann/builder", True, "junior.steer.own"),
        ("cleo", "attach", "ben/builder", False, "junior.steer"),
        ("cleo", "add_task", "shop", True, "junior.join.team"),
        ("cleo", "add_task", "bank", False, "junior.join"),
        ("cleo", "get_value", "shop/tester", True, "junior.follow.teammates"),
        ("eve", "list_agents", "", False, "not_a_member"),
        ("agent-builder", "list_agents", "", False, "unknown_agent"),
        ("shop/builder", "execute", "shop/builder", True, "agent.process.self"),
        ("shop/builder", "execute", "ann/tester", False, "agent.process"),
    ],
)
def test_decisions_follow_from_real_members(
    tmp_path: Path, who: str, verb: str, on: str, allow: bool, rule: str
) -> None:
    async def act(one: Crowd) -> None:
        said = await decided(one, verb=verb, who=who, on=on, facts={"mode": "drive"} if verb == "attach" else {})
        assert (said.decision.allow, said.decision.rule) == (allow, rule), said.as_json()
        assert said.assumed == () or who == "eve"

    play(tmp_path, act)


def test_root_lets_the_first_owner_in_and_owners_the_others(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        for who, allow in (("root", True), ("olga", True), ("ben", False), ("ann", False)):
            policy = RegoPolicy(read(), 30.0)
            try:
                await policy.start()
                asked = Asked(verb="member_add", who=who, facts={"role": "owner"})
                assert (await explain(policy, one.facts, asked)).decision.allow is allow, who
            finally:
                await policy.close()

    play(tmp_path, act)


def test_a_person_with_two_agents_of_a_name_has_to_be_asked_about_by_team(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        await one.up("toys", "ann", ("builder", "ann"))
        told = await one.facts.as_told(EVERYTHING, "olga")
        with pytest.raises(WrongUseError, match="shop/builder, toys/builder"):
            told.meant(Asked(verb="attach", who="ben", on="ann/builder"))
        for on in ("ann/tester", "shop/builder", "ann", "", "@ann", "eve/builder", "ann/none"):
            meant = told.meant(Asked(verb="attach", who="ben", on=on)).on
            assert meant == ("shop/tester" if on == "ann/tester" else on)

    play(tmp_path, act)


class _But:
    """Everything but two teams, of which one is called as somebody is."""

    async def rows(self, rows: Iterable[T], whose: Callable[[T], Whose]) -> list[T]:
        return [row for row in rows if whose(row)[0] not in ("bank", "ann")]

    def __init__(self, *, people: bool = True) -> None:
        self._people = people

    async def opened(self, verb: str, rows: Iterable[Whose]) -> Container[Whose]:
        assert verb == "member_ls"
        return list(rows) if self._people else []


def test_of_what_may_not_be_seen_nothing_is_known(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        await one.members.put(ROOT, Wanted(user="cleo", teams=("bank", "resting", "shop")))
        await one.up("ann", "olga", ("x", "olga"))
        told = await one.facts.as_told(_But(), "cleo")
        assert told.target("bank", "") is None
        assert told.target("bank", "builder") is None
        assert told.target("shop", "tester") == one.facts.target("shop", "tester")
        cleo, ben = told.caller("cleo"), told.caller("ben")
        assert cleo is not None
        assert cleo.teams == ("resting", "shop")
        assert ben is not None
        assert "bank" not in ben.teams
        assert told.caller("eve") is None
        assert told.meant(Asked(verb="attach", who="cleo", on="ben/builder")).on == "ben/builder"
        assert told.meant(Asked(verb="attach", who="cleo", on="ann/tester")).on == "shop/tester"
        assert (await one.facts.as_told(EVERYTHING, "olga")).meant(
            Asked(verb="attach", who="cleo", on="ben/builder")
        ).on == "bank/builder"

    play(tmp_path, act)


def test_of_people_only_who_may_list_them_is_told(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        told = await one.facts.as_told(_But(people=False), "cleo")
        assert (told.caller("ben"), told.caller("olga")) == (None, None)
        itself = told.caller("cleo")
        assert itself is not None
        assert itself.role == "junior"
        policy = RegoPolicy(read(), 30.0)
        try:
            await policy.start()
            for on, owner in (("@ben", ""), ("nowhere", "ben"), ("", "ben")):
                said = await explain(policy, told, Asked(verb="send", who="cleo", on=on, owner=owner))
                assert said.question.on.owner_role == "", on
        finally:
            await policy.close()

    play(tmp_path, act)
