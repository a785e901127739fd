"""Patterns over lines: whole lines only, whatever pieces they come in, and no pattern that can stop anybody."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import WrongUseError
from corral.domain.line_patterns import LONGEST_LINE, Pattern, Scan


def pattern(text: str) -> Pattern:
    return Pattern(text, "until")


def scan(until: str = "", keep: str = "", limit: int | None = None, start: int = 0) -> Scan:
    return Scan(start, until=pattern(until) if until else None, keep=pattern(keep) if keep else None, limit=limit)


class TestPattern:
    @pytest.mark.parametrize(
        ("text", "block", "lines"),
        [
            ("b", b"a\nb\nab\n", [1, 2]),
            ("^b$", b"a\nb\nab\n", [1]),
            ("^b$", b"a\r\nb\r\nab\r\n", [1]),
            ("^$", b"a\n\nb\n", [1]),
            ("x*", b"a\nb\n", [0, 1]),
            ("$", b"a\nb", [0, 1]),
            ("a.*b", b"a\nb\n", []),
            ("(?s)a.b", b"a\nb\n", []),
            ("a[^x]b", b"a\nb\n", []),
            ("a\\nb", b"a\nb\n", []),
            ("(?i)READY", b"not\nready\n", [1]),
            ("ü", "für\nfur\n".encode(), [0]),
            ("b.", b"b\xff\n", []),
            ("b", b"\xff\xfeb\n", [0]),
            ("a", b"", []),
        ],
    )
    def test_is_looked_for_in_single_lines(self, text: str, block: bytes, lines: list[int]) -> None:
        assert list(pattern(text).lines(block)) == lines

    @given(st.sampled_from(["b", "^b", "b$", "^b$", "a+", "^$", "x*", "[^b]$"]), st.text("ab\n\r", max_size=30))
    def test_finds_what_a_search_in_each_line_would(self, text: str, block: str) -> None:
        lines = block.replace("\r\n", "\n").split("\n")
        if lines[-1] == "":
            lines.pop()
        expected = [number for number, line in enumerate(lines) if re.search(text, line)]
        assert list(pattern(text).lines(block.encode())) == expected

    @pytest.mark.parametrize("text", ["(", "a{1001}", "\\1", "[z-a]", "(?=x)", "a" * 5000, "((a{40}){40}){40}"])
    def test_that_is_none_is_told_with_the_reason(self, text: str) -> None:
        with pytest.raises(WrongUseError) as raised:
            pattern(text)
        assert raised.value.message.startswith("until is ")
        assert "(?m)" not in raised.value.message

    def test_takes_no_longer_than_the_text_is_long(self) -> None:
        begun = time.monotonic()
        assert not pattern("(a*)*(a|aa)+$x").found(b"a" * LONGEST_LINE)
        assert time.monotonic() - begun < 5  # a backtracking search would outlive us all


class TestUntil:
    def test_a_line_matches(self) -> None:
        one = scan("^ready$")
        one.feed(0, b"not yet\nrea")
        assert not one.done
        one.feed(11, b"dy\nmore\n")
        assert (one.matched, one.next) == (True, 14)

    def test_a_line_that_is_not_finished_counts_if_nothing_can_change_it(self) -> None:
        prompt = scan(">>> ")
        prompt.feed(0, b"Python 3\n>>> ")
        assert (prompt.matched, prompt.next) == (True, 13)
        anchored = scan("done$")
        anchored.feed(0, b"done")
        assert not anchored.done
        anchored.feed(4, b"ness\n")
        assert not anchored.matched

    def test_as_it_stands_when_nobody_waits_any_longer(self) -> None:
        one = scan("done$")
        one.feed(0, b"done")
        one.give_up()
        assert (one.matched, one.next) == (True, 4)

    def test_a_last_line_without_an_end(self) -> None:
        one = scan("^done$")
        one.feed(0, b"done")
        one.finish()
        assert one.matched

    def test_a_line_ends_at_a_gap(self) -> None:
        one = scan("^ab$")
        one.feed(0, b"a")
        one.feed(100, b"b\n")
        assert (one.matched, one.omitted) == (False, 99)

    def test_a_line_without_end_is_taken_for_several(self) -> None:
        one = scan("needle$")
        for at in range(0, 10 * LONGEST_LINE, 1000):
            one.feed(at, b"x" * 1000)
        assert one.next > 8 * LONGEST_LINE
        one.feed(10 * LONGEST_LINE // 1000 * 1000 + 1000, b"needle\n")
        assert one.matched

    @given(st.text("ab\n", max_size=40), st.lists(st.integers(1, 5), min_size=1, max_size=50))
    def test_the_same_line_however_the_output_is_cut(self, text: str, sizes: list[int]) -> None:
        data = text.encode()
        one = scan("^ab+$")
        at, turn = 0, 0
        while at < len(data):
            size = sizes[turn % len(sizes)]
            one.feed(at, data[at : at + size])
            at, turn = at + size, turn + 1
        one.finish()
        found = re.search("^ab+$\n?", text, re.MULTILINE)
        assert one.matched == bool(found)
        if found:
            assert one.next == found.end()


class TestKeep:
    def test_only_lines_that_match(self) -> None:
        one = scan(keep="error")
        one.feed(0, b"ok\nerror 1\nok\nerr")
        one.feed(17, b"or 2\nerror")
        assert one.take() == ([b"error 1\n", b"error 2\n"], 0)
        assert one.next == 22  # what is not finished is left for the next page
        one.finish()
        assert one.take() == ([b"error"], 0)

    def test_up_to_a_limit_and_at_least_one(self) -> None:
        one = scan(keep=".", limit=5)
        one.feed(0, b"long line\nab\ncd\n")
        assert (one.done, one.kept, one.next) == (True, [b"long line\n"], 10)
        again = scan(keep=".", limit=5, start=10)
        again.feed(10, b"ab\ncd\n")
        assert (again.kept, again.next) == ([b"ab\n"], 13)

    def test_and_until(self) -> None:
        one = scan(keep="a", until="end")
        one.feed(0, b"a1\nb\na2\nend\na3\n")
        assert (one.matched, one.kept, one.next) == (True, [b"a1\n", b"a2\n"], 12)

    @given(st.text("ab\n", max_size=60), st.integers(1, 20))
    def test_pages_together_are_what_grep_finds(self, text: str, limit: int) -> None:
        data = text.encode()
        found, cursor = b"", 0
        for _ in range(len(data) + 1):
            one = scan(keep="b", limit=limit, start=cursor)
            one.feed(cursor, data[cursor:])
            one.finish()
            found += b"".join(one.kept)
            cursor = one.next
        assert cursor == len(data)
        assert found == b"".join(line for line in data.splitlines(keepends=True) if b"b" in line)
