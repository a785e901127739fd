"""What a dialog is on the screens of real programs: all of what is asked, and nothing that moves beside it."""

import pathlib
import tomllib

import pytest

from corral.agents.catalogue import profiles
from corral.domain.dialogs import Dialog, Field, find
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


def with_field(row: str, *, cursor_on: str = "3. ") -> Dialog:
    """The question of Claude Code, with this in the third of its rows, and the cursor at one of them."""
    lines = [line.replace("❯ 1.", "  1.").replace("3. Type something.", row) for line in lines_of("claude-question")]
    at = max(number for number, line in enumerate(lines) if line.startswith(f"  {cursor_on}"))
    lines[at] = f"❯{lines[at][1:]}"
    if cursor_on == "3. ":
        lines = [line.replace(" · Esc", " · ctrl+g to edit in Vim · Esc") for line in lines]
    dialog = seen("claude-question", lines)
    assert dialog is not None
    return dialog


def test_a_choice_that_is_a_field_is_chosen_by_no_digit_and_takes_words_while_it_is_empty() -> None:
    dialog = seen("claude-question")
    assert dialog is not None
    assert [(choice.number, choice.text) for choice in dialog.choices] == [
        (1, "Red"),
        (2, "Blue"),
        (4, "Chat about this"),
    ]
    assert dialog.field == Field(number=3)
    assert dialog.takes_words

    entered = with_field("3. Type something.")
    assert entered.field == Field(number=3, under_cursor=True)
    assert (entered.choices, entered.takes_words) == ((), True)

    written = with_field("3. green  as grass")
    assert written.field == Field(number=3, typed="green as grass", under_cursor=True)
    assert (written.choices, written.takes_words) == ((), False)

    left = with_field("3. green", cursor_on="1. ")
    assert left.field == Field(number=3, typed="green")
    assert [choice.number for choice in left.choices] == [1, 2, 4]


def test_what_is_written_over_several_lines_of_a_field_is_one_text() -> None:
    lines = lines_of("claude-question")
    at = lines.index("  3. Type something.")
    dialog = seen("claude-question", [*lines[:at], "❯ 3. green as", "     grass", *lines[at + 1 :]])
    assert dialog is not None
    assert dialog.field is not None
    assert dialog.field.typed == "green as grass"


def test_a_question_is_the_same_whatever_stands_in_its_field() -> None:
    first = seen("claude-question")
    assert first is not None
    others = [with_field("3. Type something."), with_field("3. 1"), with_field("3. 1", cursor_on="2. ")]
    assert {first.key} == {dialog.key for dialog in others}
    assert {first.asked} == {dialog.asked for dialog in others}
    assert len({first.mark, *(dialog.mark for dialog in others)}) == 4


def test_the_same_is_asked_as_long_as_what_stands_above_the_choices_does() -> None:
    rule = Rule(name="r", says="waiting", about="question", lines=("^Enter",))
    first, ticked, another = (
        find([rule], [question, "", f"> 1. [{tick}] Red", "  2. [ ] Blue", "Enter to go on"])
        for question, tick in (("Which?", " "), ("Which?", "x"), ("Which else?", " "))
    )
    assert first is not None
    assert ticked is not None
    assert another is not None
    assert first.asked == ticked.asked
    assert first.key != ticked.key
    assert first.asked != another.asked


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("claude-trust", "Quick safety check: Is this a project you created or one you trust?"),
        ("codex-trust", "Trust this folder?"),
        ("gemini-trust", "Do you trust the files in this folder?"),
        ("claude-question", "Which colour?"),
    ],
)
def test_what_names_a_dialog_is_what_it_asks_and_no_answer(name: str, asks: str) -> None:
    dialog = seen(name)
    assert dialog is not None
    assert dialog.line == asks


def test_where_the_composer_is_no_key_answers_what_the_title_says() -> None:
    lines = [*lines_of("codex-draft")]
    lines[3:3] = ["• The steps:", "  1. Build", "  2. Test"]
    profile = next(profile for profile in profiles() if profile.name == "codex")
    dialog = find(profile.rules, lines, "[ ! ] Action Required | shop")
    assert dialog is not None
    assert not dialog.takes_keys


@pytest.mark.parametrize("name", ["gemini-permission", "gemini-permission-moved", "gemini-trust"])
def test_what_approves_does_not_depend_on_where_the_cursor_is(name: str) -> None:
    dialog = seen(name)
    assert dialog is not None
    assert dialog.approve == ("1",)
