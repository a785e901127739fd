"""The `[merge]` table of a `corral.toml`: what it means, and what is said if it is wrong."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.merge_rules import DEFAULT_MERGE_RULES, MergeRules, merge_rule_differences, settled
from corral.domain.spec import parse
from corral.domain.spec_merge import can_be_a_branch, why_never_a_branch

FILE = "/home/ann/shop/corral.toml"


def text(table: str, repo: str = 'repo = "."') -> str:
    return f'[team]\nname = "shop"\n{repo}\n[merge]\n{table}\n[agents.builder]\ncommand = ["x"]\n'


@pytest.mark.parametrize(
    ("table", "rules"),
    [
        ("", DEFAULT_MERGE_RULES),
        ('target = "main"', MergeRules(target="main")),
        ('target = "refs/heads/release/1.x"', MergeRules(target="release/1.x")),
        ('gates = ["make", "a && b"]', MergeRules(gates=("make", "a && b"))),
        ('timeout = "90s"\nbatch = 1', MergeRules(timeout=90.0, batch=1)),
        ("timeout = 5", MergeRules(timeout=5.0)),
    ],
)
def test_what_it_means(table: str, rules: MergeRules) -> None:
    assert parse(text(table), FILE).merge == rules


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        ('target = "--force"', "merge.target", "cannot be the name of a branch"),
        ('target = ""', "merge.target", "cannot be the name of a branch"),
        ("target = 3", "merge.target", "must be a string"),
        ('gates = "make"', "merge.gates", "must be"),
        ("gates = [1]", "merge.gates", "gate 1 must be a string"),
        ('gates = ["make", "  "]', "merge.gates", "gate 2 is empty"),
        ("gates = [" + "'x', " * 33 + "]", "merge.gates", "33 gates"),
        ('timeout = "0s"', "merge.timeout", "out of range"),
        ('timeout = "soon"', "merge.timeout", "no duration"),
        ("batch = 0", "merge.batch", "out of range"),
        ("batch = 65", "merge.batch", "out of range"),
        ("tests = []", "merge.tests", "no such key"),
    ],
)
def test_what_is_wrong_is_said_at_its_key(table: str, key: str, words: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        parse(text(table), FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    (problem,) = problems
    assert problem["key"] == key
    assert words in problem["message"]
    assert problem["remedy"]


def test_without_a_repository_there_is_nothing_to_merge() -> None:
    with pytest.raises(BadSpecError, match="nothing to merge"):
        parse(text("", repo=""), FILE)


def test_a_target_that_is_not_declared_stays_what_it_was() -> None:
    at_up = settled(MergeRules(), MergeRules(), "trunk")
    assert at_up.target == "trunk"
    assert settled(MergeRules(batch=2), at_up, "elsewhere") == MergeRules(target="trunk", batch=2)
    assert settled(MergeRules(target="main"), at_up, "elsewhere").target == "main"
    assert merge_rule_differences(at_up, MergeRules(target="trunk", gates=("x",))) == ("merge.gates",)


@pytest.mark.parametrize("name", ["main", "feature/x", "corral/shop/a", "a.b", "ü", "x" * 200])
def test_branches(name: str) -> None:
    assert can_be_a_branch(name)


_NO_BRANCHES = ("", "-x", "--force", "a b", "a..b", "a~1", "a^", "a:b", "@", "HEAD", "@{u}", "/a", "a/", "a//b", ".a")
_NEITHER = ("a/.b", "a.lock", "a.", "a\n", "a\0", "a\udcff", "a*", "a[b", "a\\b", "x" * 201)


@pytest.mark.parametrize("name", [*_NO_BRANCHES, *_NEITHER])
def test_what_git_would_take_for_something_else(name: str) -> None:
    assert not can_be_a_branch(name)


@pytest.mark.parametrize(
    ("name", "why"), [("x" * 201, "longer than the 200 bytes"), ("a\udcff", "no UTF-8"), ("a b", "cannot be the name")]
)
def test_why_a_name_is_no_branch(name: str, why: str) -> None:
    assert why in why_never_a_branch(name)
