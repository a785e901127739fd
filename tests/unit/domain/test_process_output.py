"""Output on its way to a reader: pages that lose and repeat nothing, gaps that are counted, whole characters."""

from base64 import b64decode
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.process_output import BASE64, Shown, Stretch, as_base64, as_text, gap_line, page_pieces

#: Text with characters of every length, bytes that are none, and halves of characters.
BITS = st.one_of(
    st.text(max_size=8).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=8),
    st.sampled_from([b"\xe2\x82\xac", b"\xf0\x9f\x90\x8e", b"\xe2", b"\xf0\x9f", b"\x82", b"\xc3", b"a\n"]),
)
OUTPUT = st.lists(BITS, max_size=12).map(b"".join)


def whole(data: bytes, start: int = 0) -> Stretch:
    stretch = Stretch(start)
    stretch.add(start, data)
    return stretch


def raw(shown: Shown) -> bytes:
    return b64decode(shown.output) if shown.encoding == BASE64 else shown.output.encode()


def kept(data: bytes, gaps: Sequence[tuple[int, int]]) -> Stretch:
    """A stretch over `data` without what is in the gaps."""
    stretch = Stretch(0)
    cursor = 0
    for begin, end in gaps:
        stretch.add(cursor, data[cursor:begin])
        cursor = end
    stretch.add(cursor, data[cursor:])
    stretch.next = len(data)
    return stretch


class TestPages:
    @given(OUTPUT, st.lists(st.integers(4, 9), min_size=1, max_size=40), st.booleans())
    def test_together_are_what_was_written_however_they_are_cut(
        self, data: bytes, sizes: list[int], is_base64: bool
    ) -> None:
        cursor, read, turn = 0, b"", 0
        while cursor < len(data):
            size = sizes[turn % len(sizes)]
            turn += 1
            page = whole(data[cursor : cursor + size], cursor)
            shown = as_base64(page) if is_base64 else as_text(page, more=page.next < len(data))
            assert shown.next > cursor, "a page of four bytes always gets on"
            assert shown.omitted == 0
            read += raw(shown)
            cursor = shown.next
        assert read == data

    @given(st.text(max_size=30), st.integers(4, 9))
    def test_of_text_are_text(self, text: str, size: int) -> None:
        data = text.encode("utf-8", "replace")
        cursor, read = 0, ""
        while cursor < len(data):
            page = whole(data[cursor : cursor + size], cursor)
            shown = as_text(page, more=page.next < len(data))
            assert shown.encoding == ""
            read, cursor = read + shown.output, shown.next
        assert read == data.decode()

    @pytest.mark.parametrize(
        ("data", "shown", "rest"),
        [
            (b"a\xe2\x82", "a", 2),
            (b"a\xf0\x9f\x90", "a", 3),
            (b"a\xc3", "a", 1),
            ("a€".encode(), "a€", 0),
            (b"\xe2", "", 1),
        ],
    )
    def test_leave_the_beginning_of_a_character_for_the_next(self, data: bytes, shown: str, rest: int) -> None:
        page = as_text(whole(data, 10), more=True)
        assert (page.output, page.next) == (shown, 10 + len(data) - rest)

    @pytest.mark.parametrize("data", [b"a\xe2\x82", b"\xff", b"ok\n\xfe", b"\xc0\x80", b"\x80a"])
    def test_that_are_no_text_are_base64(self, data: bytes) -> None:
        page = as_text(whole(data), more=False)
        assert (page.encoding, b64decode(page.output), page.next) == (BASE64, data, len(data))

    def test_zero_bytes_are_text(self) -> None:
        assert as_text(whole(b"a\0b"), more=False).output == "a\0b"


class TestGaps:
    def test_are_told_of_in_their_place_with_their_exact_size(self) -> None:
        shown = as_text(kept(b"head" + b"x" * 1234 + b"tail", [(4, 1238)]), more=False)
        assert shown.output == "head\n[… 1234 bytes left out …]\ntail"
        assert (shown.next, shown.omitted) == (1242, 1234)

    @pytest.mark.parametrize(("begin", "end", "output"), [(0, 3, gap_line(3) + "def"), (3, 6, "abc" + gap_line(3))])
    def test_may_be_at_an_end(self, begin: int, end: int, output: str) -> None:
        assert as_text(kept(b"abcdef", [(begin, end)]), more=False).output == output

    def test_own_the_characters_that_they_go_through(self) -> None:
        data = "a€".encode() + b"middle" + "€b".encode()
        shown = as_text(kept(data, [(2, 12)]), more=False)
        # Of the first €, one byte was kept, of the second, two.
        assert (shown.output, shown.encoding) == (f"a{gap_line(12)}b", "")
        assert shown.omitted == 12

    def test_are_told_of_among_bytes_too(self) -> None:
        shown = as_text(kept(b"\xff" + b"x" * 7 + b"\xfe", [(1, 8)]), more=False)
        assert b64decode(shown.output) == b"\xff" + gap_line(7).encode() + b"\xfe"
        assert shown.omitted == 7

    @given(OUTPUT, st.integers(0, 60), st.integers(0, 60), st.booleans())
    def test_and_what_is_shown_are_all_there_was(self, data: bytes, one: int, other: int, more: bool) -> None:
        begin, end = sorted((min(one, len(data)), min(other, len(data))))
        shown = as_text(kept(data, [(begin, end)]), more=more)
        said = raw(shown).replace(gap_line(shown.omitted).encode(), b"")
        assert len(said) + shown.omitted == shown.next
        assert len(data) - shown.next <= 3


class TestStretch:
    def test_knows_a_page_that_goes_over_a_gap(self) -> None:
        stretch = Stretch(10)
        stretch.add_page(b"abXY", next_cursor=114, omitted=100, gap_at=2)
        assert stretch.pieces == [(10, b"ab"), (112, b"XY")]
        assert (stretch.size, stretch.omitted, stretch.next) == (4, 100, 114)
        assert page_pieces(5, b"abc", omitted=0, gap_at=0) == [(5, b"abc")]

    def test_pieces_that_touch_are_one(self) -> None:
        stretch = whole(b"ab")
        stretch.add_page(b"cd", next_cursor=4, omitted=0, gap_at=0)
        assert stretch.pieces == [(0, b"abcd")]

    def test_beginning_and_end(self) -> None:
        head = whole(b"0123456789").first(3)
        shown = as_text(head.followed_by(whole(b"xyz", 97)), more=False)
        assert shown.output == f"012{gap_line(94)}xyz"
        assert (shown.next, shown.omitted) == (100, 94)

    def test_parts(self) -> None:
        stretch = kept(b"0123456789", [(3, 6)])
        assert (stretch.until(2).pieces, stretch.until(2).next) == ([(0, b"01")], 2)
        assert stretch.until(8).pieces == [(0, b"012"), (6, b"67")]
        assert stretch.since(8).pieces == [(8, b"89")]
        assert stretch.since(1).pieces == [(1, b"12"), (6, b"6789")]

    def test_of_nothing(self) -> None:
        assert as_text(Stretch(7), more=True) == Shown("", "", 7, 0)
        assert as_base64(Stretch(7)).output == ""
