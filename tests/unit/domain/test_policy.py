"""Questions as documents, and answers as decisions: whatever is no decision is a denial."""

import pytest

from corral.domain.policy import (
    NO_ANSWER,
    NO_DECISION,
    Caller,
    Question,
    Target,
    asked_as,
    decision_of,
    denied,
    names_of,
    remedy,
)


def test_a_question_is_the_document_of_the_contract() -> None:
    who = Caller(user="dev1", uid=1001, member=True, role="senior", teams=("shop", "bank"))
    on = Target(kind="agent", team="shop", agent="builder", owner="dev2", owner_role="junior")
    assert Question(verb="attach", who=who, on=on, facts={"mode": "observe"}).document() == {
        "verb": "attach",
        "who": {"uid": 1001, "user": "dev1", "member": True, "role": "senior", "agent": "", "teams": ["bank", "shop"]},
        "on": {"team": "shop", "agent": "builder", "owner": "dev2", "owner_role": "junior", "kind": "agent"},
        "with": {"mode": "observe"},
    }


def test_joining_a_terminal_is_one_verb_however_it_is_done() -> None:
    who, on = Caller(user="dev1"), Target(kind="agent", team="shop", agent="builder")
    joining, attaching = (Question(verb=verb, who=who, on=on) for verb in ("join_session", "attach"))
    assert joining.document()["verb"] == "attach"
    assert (joining, joining.key) == (attaching, attaching.key)
    assert asked_as("join_session") == "attach"
    assert names_of("attach") == names_of("join_session") == ("attach", "join_session")
    assert (asked_as("send"), names_of("send")) == ("send", ("send",))


def test_a_decision_is_read_as_it_is() -> None:
    answer = {"allow": True, "rule": "r", "reason": "because", "more": 1}
    assert decision_of(answer).as_json() == {"allow": True, "rule": "r", "reason": "because"}


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (None, NO_ANSWER),
        (True, NO_DECISION),
        ("allow", NO_DECISION),
        ([{"allow": True, "rule": "r", "reason": "because"}], NO_DECISION),
        ({}, NO_DECISION),
        ({"allow": 1, "rule": "r", "reason": "because"}, NO_DECISION),
        ({"allow": "true", "rule": "r", "reason": "because"}, NO_DECISION),
        ({"allow": None, "rule": "r", "reason": "because"}, NO_DECISION),
        ({"allow": True, "reason": "because"}, NO_DECISION),
        ({"allow": True, "rule": "", "reason": "because"}, NO_DECISION),
        ({"allow": True, "rule": "r"}, NO_DECISION),
        ({"allow": True, "rule": "r", "reason": ["because"]}, NO_DECISION),
    ],
)
def test_whatever_is_no_decision_is_a_denial_that_says_so(answer: object, rule: str) -> None:
    decision = decision_of(answer)
    assert (decision.allow, decision.rule) == (False, rule)
    assert decision.reason.endswith("denied")


def test_what_a_policy_says_is_not_endless() -> None:
    decision = decision_of({"allow": False, "rule": "r" * 5000, "reason": "x" * 5000})
    assert (len(decision.rule), len(decision.reason)) == (200, 1000)


def test_who_is_denied_something_is_told_only_what_such_a_one_can_do() -> None:
    asked = Question(verb="send", who=Caller(user="jim"), on=Target(kind="agent", team="shop", agent="builder"))
    told = {
        rule: remedy(denied(rule, "no"), asked) for rule in ("junior.steer", "not_a_member", "no_policy", "timed_out")
    }
    assert told["junior.steer"].startswith("corral policy check ")
    assert "sudo corral member add" in told["not_a_member"]
    assert "sudo corral host setup --check" in told["no_policy"]
    assert "journalctl --unit corral.service (the rule is timed_out)" in told["timed_out"]
    assert "policy show" not in told["junior.steer"], "which is root's"


@pytest.mark.parametrize(
    ("verb", "who", "on", "facts", "said"),
    [
        ("send", "jim", Target(kind="agent", team="shop", agent="api"), {}, "corral policy check send shop/api asks"),
        ("stop_daemon", "jim", Target(), {}, "corral policy check stop_daemon asks"),
        ("up", "jim", Target(kind="team", team="shop", owner="jim"), {}, "corral policy check up shop asks"),
        (
            "up", "jim", Target(kind="team", team="shop", owner="ann"), {},
            "ann has a team shop: give yours another name. corral policy check up shop asks",
        ),
        (
            "join_session", "jim", Target(kind="agent", team="shop", agent="api"), {"mode": "moderate"},
            "corral policy check attach shop/api --moderate asks",
        ),
        (
            "member_add", "jim", Target(kind="team", team="shop"), {"role": "owner"},
            "corral policy check member_add shop --with role=owner asks",
        ),
        ("token_ls", "jim", Target(kind="person", owner="ann"), {}, "corral policy check token_ls @ann asks"),
    ],
)  # fmt: skip
def test_a_denial_names_the_whole_command_that_asks(
    verb: str, who: str, on: Target, facts: dict[str, str], said: str
) -> None:
    told = remedy(denied("junior.x", "no"), Question(verb=verb, who=Caller(user=who), on=on, facts=facts))
    assert told.startswith(said)
    assert "corral member ls" in told


def test_an_agent_is_told_what_people_can_ask() -> None:
    asked = Question(verb="send", who=Caller(user="jim", agent="shop/web"), on=Target(kind="team", team="shop"))
    told = remedy(denied("agent.steer", "no"), asked)
    assert told == "people ask what an agent may do: corral policy check --as shop/web send shop"
