"""Columns are as wide as they look."""

from corral.cli.table import lines, shortened, shortened_from_left, shown_width


def test_wide_and_combining_letters() -> None:
    assert [shown_width(text) for text in ("abc", "漢字", "é", "e\u0301")] == [3, 4, 1, 1]
    assert lines([["漢", "x"], ["ab", "y"], ["a", ""]]) == ["漢  x", "ab  y", "a"]


def test_shortening() -> None:
    assert (shortened("abcdef", 6), shortened("abcdef", 4)) == ("abcdef", "abc…")
    assert (shortened_from_left("abcdef", 6), shortened_from_left("abcdef", 4)) == ("abcdef", "…def")
    assert shortened("漢字漢字", 5) == "漢字…"
