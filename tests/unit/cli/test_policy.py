"""`corral policy`: decisions with their rules, tests of one's own, and what is in force."""

import json
from pathlib import Path

from corral.places import Places
from tests.unit.cli.conftest import Corral


def own(places: Places) -> Path:
    place = Path(places.policy)
    place.mkdir(parents=True)
    return place


def test_a_decision_is_told_with_its_rule(corral: Corral) -> None:
    denied = corral("policy", "check", "--as", "dev2", "--role", "junior", "attach", "dev1/builder")
    assert denied.code == 4
    assert denied.out.startswith("denied by junior.steer: dev2 (junior) may type to or answer for")
    allowed = corral(
        "policy", "check", "--as", "dev2", "--role", "observer", "--mode", "observe", "attach", "dev1/builder"
    )
    assert allowed.code == 0
    assert allowed.out.startswith("allowed by observer.read.any: ")
    assert "assumed: nothing is known of dev1/builder" in allowed.err


def test_a_denial_is_an_answer_and_no_error_for_programs(corral: Corral) -> None:
    outcome = corral("policy", "check", "--as", "shop/builder", "send", "shop/tester", "--json")
    assert (outcome.code, outcome.err) == (4, "")
    answer = json.loads(outcome.out)
    assert (answer["allow"], answer["rule"]) == (False, "agent.steer")
    assert answer["input"]["who"]["agent"] == "shop/builder"


def test_whoever_nothing_is_known_of_is_no_member(corral: Corral) -> None:
    outcome = corral("policy", "check", "--as", "dev2", "attach", "dev1/builder")
    assert (outcome.code, outcome.out) == (4, "denied by not_a_member: dev2 is no member of this host\n")
    assert "--role" in outcome.err


def test_commands_may_stand_for_their_verbs(corral: Corral) -> None:
    outcome = corral("policy", "check", "--as", "ann", "--role", "owner", "exec", "shop/builder", "--json")
    assert json.loads(outcome.out)["input"]["verb"] == "execute"


def test_a_verb_that_there_is_not_is_no_denial(corral: Corral) -> None:
    for typed, meant in (("atach", "attach"), ("list-agent", "list_agents"), ("exce", "exec")):
        outcome = corral("policy", "check", "--role", "owner", typed, "shop/builder")
        assert outcome.code == 2
        assert f"there is no verb {typed}" in outcome.err
        assert "did you mean" in outcome.err
        assert meant in outcome.err
    outcome = corral("policy", "check", "--role", "owner", "xyzzy", "--json")
    assert (outcome.code, outcome.error["message"]) == (2, "there is no verb xyzzy")


def test_facts_of_a_verb_are_given_as_pairs(corral: Corral) -> None:
    words = ("policy", "check", "--as", "sam", "--role", "senior", "--owner", "sam", "member_add", "bank")
    assert corral(*words, "--with", "role=junior").code == 0
    said = corral(*words, "--with", "role=owner").out
    assert said.startswith("denied by gives_too_much: ")
    assert "may give and take the roles junior, observer, agent only, and this is about the role owner" in said
    assert "and this is about a role that is not named" in corral(*words).out
    assert corral(*words, "--with", "role").code == 2


def test_the_files_of_the_instance_count(corral: Corral, places: Places) -> None:
    words = ("policy", "check", "--as", "dev2", "--role", "junior", "logs", "dev1/builder")
    assert corral(*words).code == 4
    (own(places) / "data.json").write_text('{"tables": {"roles": {"junior": {"grants": {"read": ["any"]}}}}}')
    assert corral(*words).code == 0
    (Path(places.policy) / "data.json").write_text("{")
    outcome = corral(*words, "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "bad_policy")


def test_settings_that_cannot_be_are_told_and_decide_nothing(corral: Corral, places: Places) -> None:
    own(places)
    Path(places.config_file).write_text('[policy]\nurl = "http://opa.example.org"\n')
    outcome = corral("policy", "check", "--role", "owner", "health", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "bad_policy")
    Path(places.config_file).write_text('[policy]\nurl = "http://127.0.0.1:1"\n')
    outcome = corral("policy", "check", "--role", "owner", "health", "--json")
    assert (outcome.code, json.loads(outcome.out)["rule"]) == (4, "no_answer")


def test_tests_pass_and_fail(corral: Corral, tmp_path: Path) -> None:
    (tmp_path / "own_test.rego").write_text("package x\n\ntest_a if true\n")
    passed = corral("policy", "test", str(tmp_path))
    assert (passed.code, passed.out) == (0, "✓ test_a\n")
    (tmp_path / "own_test.rego").write_text("package x\n\ntest_a if true\n\ntest_b if false\n")
    failed = corral("policy", "test", str(tmp_path), "--json")
    assert (failed.code, failed.error["message"]) == (1, "1 of 2 tests failed")
    assert [row["passed"] for row in json.loads(failed.out)["tests"]] == [True, False]


def test_rules_about_what_is_no_verb_are_told(corral: Corral, tmp_path: Path) -> None:
    (tmp_path / "own.rego").write_text(
        'package corral\n\ndeny["x"] := "y" if input.verb == "join_session"\n\ntest_a if true\n'
    )
    outcome = corral("policy", "test", str(tmp_path))
    assert outcome.code == 0
    assert f"{tmp_path}/own.rego:3: join_session is asked as attach, so this never applies" in outcome.err
    answer = json.loads(corral("policy", "test", str(tmp_path), "--json").out)
    assert len(answer["warnings"]) == 1


def test_no_tests_and_no_directory_are_told_apart(corral: Corral, tmp_path: Path) -> None:
    assert "have no test" in corral("policy", "test", str(tmp_path), "--json").error["message"]
    assert "no directory" in corral("policy", "test", str(tmp_path / "none"), "--json").error["message"]


def test_what_is_in_force_is_shown_and_written(corral: Corral, tmp_path: Path) -> None:
    outcome = corral("policy", "show", "--to", str(tmp_path / "opa"))
    assert outcome.code == 0
    assert "OWNER" in outcome.out
    assert (tmp_path / "opa" / "data.json").exists()
    answer = json.loads(corral("policy", "show", "--json").out)
    assert list(answer["tables"]["roles"]) == ["owner", "senior", "junior", "observer", "agent"]
    assert corral("policy", "show", "--to", str(tmp_path / "opa")).code == 2


def test_how_one_attaches_is_said_as_attach_has_it_and_what_is_not_said_is_told(corral: Corral) -> None:
    words = ("policy", "check", "--as", "obi", "--role", "observer", "join_session", "shop/builder")
    outcome = corral(*words)
    assert outcome.code == 4
    assert "assumed: it is to type there (mode drive): --mode says otherwise" in outcome.err
    for said in (("--observe",), ("--mode", "observe")):
        outcome = corral(*words, *said)
        assert (outcome.code, outcome.out.startswith("allowed by observer.")) == (0, True)
        assert "--mode" not in outcome.err
    assert corral(*words, "--observe", "--mode", "drive").code == 2
