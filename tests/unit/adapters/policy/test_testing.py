"""Tests of a host's own rules: those that hold, those that do not, and those that never come to an end."""

import asyncio
from pathlib import Path

import pytest

from corral.adapters.policy.testing import Outcome, run_tests
from corral.domain.errors import BadPolicyError

RULES = 'package corral\n\nallow["on_call"] := "jim is on call" if input.who.user == "jim"\n'
TESTS = """package corral_test

import data.corral

jim := {
	"verb": "send",
	"who": {"uid": 1, "user": "jim", "member": true, "role": "junior", "agent": "", "teams": []},
	"on": {"team": "shop", "agent": "builder", "owner": "june", "owner_role": "junior", "kind": "agent"},
	"with": {},
}

test_jim_may if {
	corral.decision.rule == "on_call" with input as jim
}

test_jim_may_not if {
	not corral.decision.allow with input as jim
}

lacking := {"verb": "send"}

test_who_lacks_all if {
	not corral.decision.allow with input as lacking
}

test_both if {
	corral.decision.allow with input as jim
	not corral.decision.allow with input as lacking
}

test_role if corral.role == "junior" with input as jim
"""


def run(directory: Path, seconds: float = 10.0) -> list[Outcome]:
    return asyncio.run(run_tests(str(directory), seconds))


def test_each_test_holds_or_does_not(tmp_path: Path) -> None:
    (tmp_path / "own.rego").write_text(RULES)
    (tmp_path / "own_test.rego").write_text(TESTS)
    outcomes = {one.name: (one.passed, one.problem) for one in run(tmp_path)}
    assert outcomes == {
        "test_jim_may": (True, ""),
        "test_jim_may_not": (False, "it does not hold"),
        "test_who_lacks_all": (True, ""),
        "test_both": (False, "it has several inputs (jim, lacking); make it one test for each"),
        "test_role": (True, ""),
    }


def test_tests_of_a_team_are_run(tmp_path: Path) -> None:
    place = tmp_path / "teams" / "my-shop"
    place.mkdir(parents=True)
    (place / "own.rego").write_text('package corral.teams["my-shop"]\n\ntest_here if true\n')
    assert [(one.name, one.passed) for one in run(tmp_path)] == [("test_here", True)]


def test_a_value_that_is_not_true_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "own_test.rego").write_text('package x\n\ntest_text := "true"\n\ntest_no := false\n')
    assert [one.passed for one in run(tmp_path)] == [False, False]


def test_without_tests_there_is_nothing_and_mistakes_are_told(tmp_path: Path) -> None:
    (tmp_path / "own.rego").write_text(RULES)
    assert run(tmp_path) == []
    (tmp_path / "own.rego").write_text("package corral\n\nallow[ := 1\n")
    with pytest.raises(BadPolicyError, match=r"own\.rego:3"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("own.rego", 'package corral\n\nallow["x"] := "y" if {\n\tact == "read" with input.verb as "logs"\n}\n'),
        ("own_test.rego", 'package x\n\ntest_a if {\n\tdata.corral.act == "read" with input as {"verb": "logs"}\n}\n'),
        ("own_test.rego", "package x\n\ntest_a if {\n\tdata.corral.act\n\t\twith data.tables as 1\n}\n"),
    ],
)
def test_what_would_bring_the_engine_down_never_gets_there(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadPolicyError, match=r"own(_test)?\.rego:\d uses `with`"):
        run(tmp_path)


@pytest.mark.parametrize("test", ["", "\ntest_here if true\n"])
def test_what_a_daemon_would_refuse_is_refused_whatever_the_tests_are_about(tmp_path: Path, test: str) -> None:
    (tmp_path / "own.rego").write_text(
        'package corral\n\ndeny["a"] := "b" if net.cidr_contains("10.0.0.0/8", "10.1.1.1")\n'
    )
    (tmp_path / "own_test.rego").write_text(f"package x\n{test}")
    with pytest.raises(BadPolicyError, match=r"own\.rego:3 uses net\.cidr_contains"):
        run(tmp_path)
