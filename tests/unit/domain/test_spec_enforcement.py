"""The `[enforcement]` table: what it takes, and what it says to what it does not."""

import pytest

from corral.domain.enforcement import DEFAULT_ENFORCEMENT, Enforcement, enforcement_differences
from corral.domain.errors import BadSpecError
from corral.domain.spec import parse

_TEAM = '[team]\nname = "shop"\n[agents.a]\ncommand = ["x"]\n'


def read(text: str) -> Enforcement:
    return parse(f"{_TEAM}{text}", "/x/corral.toml").enforcement


def test_without_it_everything_is_refused_that_nobody_can_vouch_for() -> None:
    assert read("") == read("[enforcement]") == DEFAULT_ENFORCEMENT
    assert Enforcement(worktrees=True, unreachable="deny", stash="deny", target="deny") == DEFAULT_ENFORCEMENT


def test_every_key_is_read() -> None:
    said = read('[enforcement]\nworktrees = false\nunreachable = "allow"\nstash = "allow"\ntarget = "allow"')
    assert said == Enforcement(worktrees=False, unreachable="allow", stash="allow", target="allow")
    assert enforcement_differences(DEFAULT_ENFORCEMENT, said) == (
        "enforcement.worktrees",
        "enforcement.unreachable",
        "enforcement.stash",
        "enforcement.target",
    )


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ('unreachable = "warn"', '"warn" is no answer', "did you mean 'allow'?"),
        ("stash = false", "must be a string", 'stash = "deny"'),
        ('worktrees = "no"', "must be a boolean", "worktrees = true"),
        ('offline = "deny"', "there is no such key", "did you mean 'unreachable'?"),
        ('repo = "."', "there is no such key", "below [team]"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_right(text: str, message: str, remedy: str) -> None:
    with pytest.raises(BadSpecError) as caught:
        read(f"[enforcement]\n{text}")
    assert message in caught.value.message
    assert remedy in caught.value.remedy
