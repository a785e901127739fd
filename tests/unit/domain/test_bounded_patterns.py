"""Patterns that people write hold nobody up, whatever they say: with Python's own engine these tests would not end."""

import pytest

from corral.domain import screen_patterns
from corral.domain.bounded_patterns import LONGEST_PATTERN, NoPatternError, compiled
from corral.domain.dialogs import find
from corral.domain.screen_patterns import Shown
from corral.domain.screens import Rule, read

#: As wide and as high as terminals get, and nothing on it that the patterns look for.
WIDE = ["a" * 500] * 200
#: Each has more ways to fit a long line, or a whole screen, than anybody can wait for.
NASTY = (
    r"(a+)+$b",
    r"(a|aa)*c",
    r"(?:a*)*(?:a*)*d",
    r".*.*.*.*.*.*e",
    r"(?:(?:a+)+)+f",
    r"[\s\S]*[\s\S]*[\s\S]*[\s\S]*g",
)


@pytest.mark.parametrize("pattern", NASTY)
def test_a_pattern_with_countless_ways_to_fit_is_done_soon(pattern: str) -> None:
    nasty = Rule(name="nasty", says="waiting", about="permission", lines=(pattern,), unless=(pattern,), approve=("y",))
    fits = Rule(name="fits", says="waiting", about="permission", lines=("^a+$",), unless=(pattern,), approve=("y",))
    block = Rule(name="block", says="working", block=pattern, title=pattern)
    assert read([nasty, block], WIDE, "a" * 5000) is None
    dialog = find([nasty, block, fits], WIDE)
    assert dialog is not None
    assert dialog.rule == "fits"
    assert Shown(WIDE).block(pattern) is None
    assert Shown(WIDE).last_group(f"(?P<text>{pattern})", "text") is None
    assert screen_patterns.whole(f"(?P<session>{pattern})", "a" * 255, "session") is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing"),
        ("a(?!b)", "(?!"),
        (r"(a)\1", "escape"),
        ("(?:a{1000}){1000}", "size"),
        ("a" * (LONGEST_PATTERN + 1), "longer than"),
    ],
)
def test_what_cannot_be_bounded_is_refused(pattern: str, why: str) -> None:
    for crosses_lines in (True, False):
        with pytest.raises(NoPatternError) as refusal:
            compiled(pattern, crosses_lines=crosses_lines)
        assert why in str(refusal.value)


def test_the_lowest_line_counts_and_no_pattern_for_lines_goes_beyond_one() -> None:
    shown = Shown(["> one", "", "> two  ", "end", ""])
    assert shown.lowest("^>") == 2
    assert shown.lines[2] == "> two"
    assert shown.lowest(r"^> two\s+end") is None
    assert shown.lowest(r"[^x]*end") == 3
    assert shown.lowest("^$") is None
    assert shown.block(r"^> two\nend$") == "> two\nend"
    assert shown.last_group(r"^> (?P<text>\w+)$", "text") == "two"
    assert shown.last_group(r"^! (?P<text>\w+)$", "text") is None


def test_whatever_a_screen_shows_can_be_looked_at() -> None:
    odd = ["\ud800 broken", "two\nin one", "näher"]
    shown = Shown(odd)
    assert shown.lowest("n.her") == 2
    assert shown.lowest("broken") == 0
    assert shown.lowest("in one") == 1
