"""Asking about somebody else's request: from facts, from what one says, and from what is assumed for want of both."""

import asyncio

import pytest

from corral.domain.errors import WrongUseError
from corral.domain.policy import Caller, Decision, Question, Target
from corral.ports.policy import Facts, NoFacts
from corral.service.policy_check import Asked, Explained, explain


class Noting:
    """A policy that allows everything, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Decision:
        self.asked.append(question)
        return Decision(allow=True, rule="r", reason="because")

    def known(self, question: Question) -> Decision | None:
        return None

    async def close(self) -> None:
        return None


class Members:
    def caller(self, user: str) -> Caller | None:
        roles = {"dev1": "junior", "dev2": "senior"}
        return Caller(user=user, uid=1, member=True, role=roles[user], teams=("shop",)) if user in roles else None

    def target(self, team: str, agent: str) -> Target | None:
        if team != "shop" or agent not in ("", "builder"):
            return None
        return Target(kind="agent" if agent else "team", team=team, agent=agent, owner="dev1")

    def stamp(self) -> int:
        return 0


def asked(facts: Facts, asking: Asked) -> Explained:
    policy = Noting()
    explained = asyncio.run(explain(policy, facts, asking))
    assert policy.asked == [explained.question]
    return explained


def test_facts_are_taken_where_there_are_some() -> None:
    explained = asked(Members(), Asked(verb="attach", who="dev2", on="shop/builder", facts={"mode": "observe"}))
    assert explained.assumed == ()
    assert explained.question.document() == {
        "verb": "attach",
        "who": {"uid": 1, "user": "dev2", "member": True, "role": "senior", "agent": "", "teams": ["shop"]},
        "on": {"team": "shop", "agent": "builder", "owner": "dev1", "owner_role": "junior", "kind": "agent"},
        "with": {"mode": "observe"},
    }


def test_what_one_says_counts_over_facts() -> None:
    explained = asked(
        Members(), Asked(verb="send", who="dev2", on="shop/builder", role="observer", owner="dev2", teams=("bank",))
    )
    who, on = explained.question.who, explained.question.on
    assert (who.role, who.teams) == ("observer", ("bank",))
    assert (on.owner, on.owner_role) == ("dev2", "senior")


def test_without_facts_it_is_told_what_was_assumed() -> None:
    explained = asked(NoFacts(), Asked(verb="attach", who="dev2", on="dev1/builder"))
    assert (explained.question.who.member, explained.question.on.owner) == (False, "dev1")
    assert [word for line in explained.assumed for word in line.split() if word.startswith("--")] == [
        "--owner",
        "--owner-role",
        "--mode",
        "--role",
    ]


def test_an_agent_is_itself() -> None:
    explained = asked(Members(), Asked(verb="send", who="shop/builder", on="shop"))
    who = explained.question.who
    assert (who.agent, who.user, who.role, who.teams) == ("shop/builder", "dev1", "", ())


@pytest.mark.parametrize(
    ("on", "kind", "owner"), [("", "host", ""), ("@dev1", "person", "dev1"), ("shop", "team", "dev1")]
)
def test_what_it_is_about(on: str, kind: str, owner: str) -> None:
    target = asked(Members(), Asked(verb="x", who="dev2", on=on)).question.on
    assert (target.kind, target.owner, target.agent) == (kind, owner, "")


@pytest.mark.parametrize("words", ["shop/", "/builder", "a/b/c"])
def test_what_names_no_agent_is_told(words: str) -> None:
    with pytest.raises(WrongUseError, match="names no agent"):
        asked(NoFacts(), Asked(verb="x", who="dev1", on=words))
