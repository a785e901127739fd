"""Words that are put behind the program of a command."""

import pytest

from corral.agents.catalogue import for_command
from corral.agents.command_words import with_words

MORE = ("--resume", "x y")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("claude",), ("claude", *MORE)),
        (("claude", "--model", "m"), ("claude", *MORE, "--model", "m")),
        (("env", "A=1", "/opt/claude", "-v"), ("env", "A=1", "/opt/claude", *MORE, "-v")),
    ],
)
def test_words_come_right_behind_the_program(command: tuple[str, ...], expected: tuple[str, ...]) -> None:
    profile = for_command(command, False)
    assert profile is not None
    assert with_words(command, False, profile.command, MORE) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("claude", "claude --resume 'x y'"),
        ("claude --model m", "claude --resume 'x y' --model m"),
        ("A='b c' exec claude -v | tee 'a  b'", "A='b c' exec claude --resume 'x y' -v | tee 'a  b'"),
        ("claude  # the usual", "claude --resume 'x y'  # the usual"),
        ("claude 'an open quote", "claude --resume 'x y' 'an open quote"),
    ],
)
def test_the_rest_of_a_script_stays_as_it_is(script: str, expected: str) -> None:
    profile = for_command((script,), True)
    assert profile is not None
    (changed,) = with_words((script,), True, profile.command, MORE)
    assert changed == expected


def test_without_words_nothing_changes() -> None:
    assert with_words(("claude", "x"), False, ("claude",), ()) == ("claude", "x")
