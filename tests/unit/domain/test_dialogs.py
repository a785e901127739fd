"""What a dialog is on the screens of real programs: all of what is asked, and nothing that moves beside it."""

import pathlib
import tomllib

import pytest

from corral.agents.catalogue import profiles
from corral.domain.dialogs import Dialog, find
from corral.domain.screens import Rule

DIRECTORY = pathlib.Path(__file__).parent.parent / "agents" / "screens"
EXPECTED = tomllib.loads((DIRECTORY / "expected.toml").read_text())
ASKING = sorted(name for name, expected in EXPECTED.items() if expected["says"].startswith("waiting"))


def lines_of(name: str) -> list[str]:
    return (DIRECTORY / f"{name}.txt").read_text().split("\n")


def seen(name: str, lines: list[str] | None = None) -> Dialog | None:
    profile = next(profile for profile in profiles() if profile.name == name.partition("-")[0])
    return find(profile.rules, lines_of(name) if lines is None else lines, EXPECTED[name]["title"])


@pytest.mark.parametrize("name", ASKING)
def test_every_screen_that_waits_for_a_person_shows_a_dialog(name: str) -> None:
    dialog = seen(name)
    assert dialog is not None
    assert EXPECTED[name]["says"] == f"waiting ({dialog.about})"
    assert dialog.line
    assert dialog.lines


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - set(ASKING)))
def test_no_other_screen_does(name: str) -> None:
    assert seen(name) is None


@pytest.mark.parametrize(
    ("name", "asked", "choices"),
    [
        ("claude-permission-command", "   rm -r build", ["Yes", "Yes, and always allow access to shop/", "No"]),
        ("claude-permission-write", "hello", ["Yes", "Yes, allow all edits during", "No"]),
        ("claude-question", "Which colour?", ["Red", "Blue", "Type something.", "Chat about this"]),
        ("claude-trust", " /home/ann/shop", ["Yes, I trust this folder", "No, exit"]),
        ("codex-permission", "  $ rm -r build", ["Yes, proceed (y)", "Yes, and don't ask again", "No, and tell Codex"]),
        ("gemini-permission", "Shell rm -r build", ["Allow once", "Allow for this session", "No, suggest changes"]),
        ("demo-permission", "permission needed: may I remove the build?", ["Yes", "No"]),
    ],
)
def test_it_has_what_is_asked_about_and_what_can_be_chosen(name: str, asked: str, choices: list[str]) -> None:
    dialog = seen(name)
    assert dialog is not None
    assert any(asked in line for line in dialog.lines)
    assert [choice.number for choice in dialog.choices] == list(range(1, len(choices) + 1))
    for choice, begins in zip(dialog.choices, choices, strict=True):
        assert choice.text.startswith(begins)


@pytest.mark.parametrize("name", ["claude-permission-command", "codex-permission", "gemini-permission"])
def test_another_command_is_another_mark(name: str) -> None:
    other = [line.replace("rm -r build", "rm -r /home") for line in lines_of(name)]
    first, second = seen(name), seen(name, other)
    assert first is not None
    assert second is not None
    assert first.mark != second.mark
    assert first.key != second.key


@pytest.mark.parametrize("name", ["claude-permission-command", "codex-permission"])
def test_what_is_above_the_dialog_may_move(name: str) -> None:
    lines = ["• Working (17s • esc to x)", *lines_of(name)[1:], "", ""]
    first, second = seen(name), seen(name, lines)
    assert first is not None
    assert second is not None
    assert first.mark == second.mark


def test_another_choice_under_the_cursor_is_another_mark() -> None:
    """Enter would mean something else by now; but it is the same question."""
    lines = [
        line.replace(" ❯ 1. Yes", "   1. Yes").replace("   3. No", " ❯ 3. No")
        for line in lines_of("claude-permission-command")
    ]
    first, second = seen("claude-permission-command"), seen("claude-permission-command", lines)
    assert first is not None
    assert second is not None
    assert first.mark != second.mark
    assert first.key == second.key


def test_what_is_not_kept_of_a_long_line_counts_all_the_same() -> None:
    rule = Rule(name="r", says="waiting", about="permission", lines=("^May I",))
    first, second = (find([rule], ["May I run this?", "x" * 1000 + end]) for end in "ab")
    assert first is not None
    assert second is not None
    assert first.lines == second.lines
    assert first.mark != second.mark


def test_a_list_in_the_text_is_not_taken_for_the_choices() -> None:
    rule = Rule(name="r", says="waiting", about="permission", lines=("^May I",))
    dialog = find([rule], ["May I do this?", "1. delete", "2. write", "3. push", "", "> 1. Yes", "  2. No"])
    assert dialog is not None
    assert [choice.text for choice in dialog.choices] == ["Yes", "No"]
