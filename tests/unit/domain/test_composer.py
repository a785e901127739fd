"""May something be typed, and is it there?"""

import pytest

from corral.domain.composer import LATEST_SECONDS, TYPING_SECONDS, Desk, before_enter, obstacle, shows

FREE = Desk(composer=True)


@pytest.mark.parametrize(
    ("desk", "reason"),
    [
        (Desk(waits_for="permission", composer=True), "it waits for a person (permission)"),
        (Desk(draft="half a sent", composer=True), "somebody is writing there"),
        (Desk(in_mode=True, watched=True, composer=True), "somebody reads back there (copy mode)"),
        (Desk(in_command=True, watched=True, composer=True), "somebody is about to give tmux a command there"),
        (Desk(typed_ago=0.0, watched=True, composer=True), "somebody has just typed there"),
        (Desk(composer=False), "it shows no place to type a message now"),
    ],
)
def test_what_keeps_a_message_from_being_typed(desk: Desk, reason: str) -> None:
    found = obstacle(desk)
    assert found is not None
    assert found.reason == reason


@pytest.mark.parametrize(
    "desk",
    [
        FREE,
        Desk(),  # a program that nobody knows
        Desk(composer=True, in_mode=True),  # left so by somebody who is gone
        Desk(composer=True, watched=True, typed_ago=TYPING_SECONDS),
    ],
)
def test_what_does_not(desk: Desk) -> None:
    assert obstacle(desk) is None


def test_a_dialog_counts_more_than_anything_else() -> None:
    found = obstacle(Desk(waits_for="trust", draft="x", typed_ago=0.0, watched=True))
    assert found is not None
    assert found.reason == "it waits for a person (trust)"


def test_when_somebody_typed_it_is_known_when_it_is_over() -> None:
    found = obstacle(Desk(typed_ago=1.0, watched=True))
    assert found is not None
    assert found.again == TYPING_SECONDS - 1.0


def test_a_screen_that_the_first_message_replaces_is_waited_for_and_not_for_ever() -> None:
    opening = Desk(composer=True, opening=True)
    assert obstacle(opening) is None
    found = obstacle(opening, entered_ago=0.5)
    assert found is not None
    assert (found.reason, found.again) == ("it has not opened its conversation yet", 0.5)
    assert obstacle(opening, entered_ago=20.0) is None
    assert obstacle(Desk(composer=True), entered_ago=0.5) is None


def test_what_never_came_up_in_the_composer_is_looked_for_again_until_it_is_lost() -> None:
    found = before_enter(Desk(composer=True), shown=False, was_shown=False, seconds=10.0)
    assert found is not None
    assert found.again == LATEST_SECONDS - 10.0


LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        ("hello", "hello"),
        ("hel\n  lo wor\n  ld", "hello world"),  # broken where the terminal ends
        ("┃ hello\n┃ world", "hello\nworld"),
        ("a␛[31mb", "a\x1b[31mb"),  # made visible on its way
        ("[Pasted text #1 +30 lines]", "a\n" * 30),
        ("[Pasted Content 5000 chars]", "x" * 5000),
        ("[2 lines, 9 bytes]", "say\nhello"),
        ("[2 lines, 4 bytes]", "one\r"),
        (LONG[20:], LONG),  # a composer that shows the end
        ("a·b·", "a\tb\u200b"),  # each program shows what is no letter in its own way
        ("·", "\t"),
        ("left", "left" + " " * 30 + "right"),
    ],
)
def test_what_shows_a_text(draft: str, text: str) -> None:
    assert shows(draft, text)


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        ("", "hello"),
        ("hello x", "hello"),  # somebody typed behind it
        ("", "!"),
        ("xhello", "hello"),
        ("hell", "hello"),
        ("[1 line]", "hello"),  # nobody shows a short text so
        (LONG[20:] + "x", LONG),
        ("see [Pasted text #1 +30 lines]", "a\n" * 30),
    ],
)
def test_what_does_not_show_it(draft: str, text: str) -> None:
    assert not shows(draft, text)


@pytest.mark.parametrize(
    ("desk", "shown", "was_shown", "seconds", "reason", "lost"),
    [
        (Desk(composer=True, draft="x"), True, False, 0.0, "", False),
        (Desk(composer=True, draft="x", waits_for="trust"), True, True, 0.0, "it waits for a person (trust)", False),
        (
            Desk(composer=True, draft="y"),
            False,
            True,
            900.0,
            "somebody has changed it: a person has to press Enter",
            False,
        ),
        (Desk(composer=True), False, True, 0.0, "it was pasted, and is not in the composer any more", True),
        # It may not have begun to read yet …
        (Desk(composer=True), False, False, LATEST_SECONDS, "its composer does not show it", False),
        (
            Desk(composer=True),
            False,
            False,
            LATEST_SECONDS + 1,
            "it was pasted, and is not in the composer any more",
            True,
        ),
        # … and without a composer nobody can tell.
        (Desk(composer=False), False, True, 900.0, "its composer does not show it", False),
    ],
)
def test_what_keeps_enter_from_being_pressed(
    desk: Desk, shown: bool, was_shown: bool, seconds: float, reason: str, lost: bool
) -> None:
    found = before_enter(desk, shown=shown, was_shown=was_shown, seconds=seconds)
    assert (found.reason if found is not None else "", found is not None and found.lost) == (reason, lost)
