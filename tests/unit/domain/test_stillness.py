"""What on a screen is progress, and what only turns and counts."""

import pytest

from corral.agents import catalogue
from corral.domain.stillness import mark


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("✻ Considering…", "✽ Considering… (59s)"),
        ("✶ Considering… (59s · thinking)", "* Considering… (1m 02s · thinking)"),
        ("◦ Working (2s • esc to interrupt)", "• Working (1m 14s • esc to interrupt)"),
        (" ⠏ Working...", " ⠹ Working..."),
        ("   ⬝⬝⬝⬝⬝⬝⬝⬝  esc interrupt", "   ⬝⬝■■■■⬝⬝  esc interrupt"),
        ("░█ Waiting for gpt", "█░ Waiting for gpt"),
        ("| waiting", "/ waiting"),
        ("● Bash(make test)", "  Bash(make test)"),
        ("12:59 up", "13:00 up"),
        ("elapsed 9.5 s", "elapsed 10.0 s"),
    ],
)
def test_what_turns_blinks_and_counts_the_time_is_nothing_new(before: str, after: str) -> None:
    assert mark(["$ work", before]) == mark(["$ work", after])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("building 45%", "building 46%"),
        ("[12/80] foo.c", "[13/80] foo.c"),
        ("tests/a.py ....", "tests/a.py ....."),
        ("↓ 120 tokens", "↓ 125 tokens"),
        ("• Reading files (9s)", "• Writing files (12s)"),
        ("говорю", "говорил"),
    ],
)
def test_whatever_else_changes_is_something_new(before: str, after: str) -> None:
    assert mark(["$ work", before]) != mark(["$ work", after])


@pytest.mark.parametrize(
    ("profile", "before", "after"),
    [
        ("codex", "◦ Working (2s • esc to interrupt)", "• Working (1m 2s • esc to interrupt)\n  └ Tip: Use the docs."),
        ("gemini", "⠏ Counting electrons (esc to cancel, 9s)", "⠹ Herding cats (esc to cancel, 24s)"),
    ],
)
def test_a_profile_knows_lines_that_say_nothing(profile: str, before: str, after: str) -> None:
    known = catalogue.by_name(profile)
    assert known is not None
    assert mark(before.split("\n"), known.volatile) == mark(after.split("\n"), known.volatile)
    assert mark(before.split("\n")) != mark(after.split("\n"))


def test_a_line_feed_or_a_surrogate_within_a_line_does_no_harm() -> None:
    assert mark(["a\nb", "\udcff"]) != mark(["a"])
