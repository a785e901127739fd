"""The policy that ships, by a table of who may do what; and what it says of those who may not."""

import dataclasses
from pathlib import Path

import pytest

from corral.domain.policy import Decision
from tests.support.permissions import EVERYBODY, OWNERS, cases, decisions, question

Said = dict[tuple[str, str, str], Decision]
AGENTS = tuple(name for name in OWNERS if "/" in name)


@pytest.fixture(scope="module")
def said() -> Said:
    """What the policy says of everybody, by what and on what."""
    asked = [(what, on, who) for what, on, _ in cases() for who in EVERYBODY]
    return dict(zip(asked, decisions([question(who, what, on) for what, on, who in asked]), strict=True))


@pytest.mark.parametrize(("what", "on", "allowed"), cases(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_table(said: Said, what: str, on: str, allowed: frozenset[str]) -> None:
    assert {who for who in EVERYBODY if said[what, on, who].allow} == allowed


def test_the_rule_and_the_reason_are_told(said: Said) -> None:
    assert said["send", "shop/builder", "sam"].as_json() == {
        "allow": True,
        "rule": "senior.steer.below",
        "reason": "sam (senior) may type to or answer for the agents of those they look after",
    }
    assert said["attach:observe", "shop/builder", "jim"].as_json() == {
        "allow": False,
        "rule": "junior.read",
        "reason": "jim (junior) may read the output of what is their own only, and this is about shop/builder of june",
    }


@pytest.mark.parametrize(
    ("who", "what", "on", "rule"),
    [
        ("eve", "health", "host", "not_a_member"),
        ("olga", "no_such_verb", "host", "unknown_verb"),
        ("olga", "attach:zap", "shop/builder", "unknown_mode"),
        ("sam", "member_add:owner", "bank", "gives_too_much"),
        ("olga", "member_add", "bank", "gives_too_much"),
        ("shop/helper", "send", "shop/builder", "agent.steer"),
        ("shop/helper", "acquire_lease", "shop/builder", "agent.join"),
        ("june", "host_setup", "host", "junior.host"),
    ],
)
def test_a_denial_names_its_rule(said: Said, who: str, what: str, on: str, rule: str) -> None:
    decision = said[what, on, who]
    assert (decision.allow, decision.rule) == (False, rule)
    assert decision.reason


def test_an_agent_is_never_anybody_else() -> None:
    """Neither another agent, also not one of the same developer, nor the developer, whose role it is asked with."""
    verbs = ("attach", "attach:observe", "answer_entry", "up", "down", "execute", "logs", "list_inbox", "stop", "fork")
    others = (*AGENTS, "shop", "bank", "host", "@june", "@sam")
    asked = [question(agent, verb, on) for agent in AGENTS for verb in verbs for on in others if on != agent]
    assert [one for one, said in zip(asked, decisions(asked), strict=True) if said.allow] == []


def test_a_rule_about_attach_holds_for_every_way_of_attaching(tmp_path: Path) -> None:
    (tmp_path / "own.rego").write_text(
        'package corral\n\ndeny["frozen"] := "nobody joins it" if {\n\tinput.verb == "attach"\n'
        '\tinput.on.agent == "builder"\n}\n'
    )
    ways = ("attach", "attach:observe", "join_session:observe", "join_session:drive", "join_session:moderate")
    said = decisions([question("olga", way, "shop/builder") for way in ways], str(tmp_path))
    assert [(one.allow, one.rule) for one in said] == [(False, "frozen")] * len(ways)


def test_roles_that_are_none_may_nothing() -> None:
    asked = question("olga", "health", "host")
    odd = [dataclasses.replace(asked, who=dataclasses.replace(asked.who, role=role)) for role in ("agent", "chief", "")]
    said = decisions(odd)
    assert [(one.allow, one.rule) for one in said] == [
        (False, "unknown_agent"),
        (False, "unknown_role"),
        (False, "unknown_role"),
    ]


def test_what_belongs_to_nobody_is_not_everybodys() -> None:
    asked = question("june", "send", "shop/builder")
    who, on = dataclasses.replace(asked.who, user=""), dataclasses.replace(asked.on, owner="", owner_role="")
    (said,) = decisions([dataclasses.replace(asked, who=who, on=on)])
    assert not said.allow
