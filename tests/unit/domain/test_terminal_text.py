"""The text in terminal output: what is dropped, what moves, and that cutting it into pieces changes nothing."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.terminal_text import TextCleaner


def cleaned(*pieces: str) -> str:
    cleaner = TextCleaner()
    return "".join([*map(cleaner.feed, pieces), cleaner.finish()])


class TestText:
    @pytest.mark.parametrize("text", ["", "plain\n", "a\tb\n", "größer 漢字 🐎\n", "\n\nblank lines\n", "no end"])
    def test_stays_as_it_is(self, text: str) -> None:
        assert cleaned(text) == text

    @pytest.mark.parametrize(
        ("output", "text"),
        [
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\r\r\nb", "a\nb"),
            ("10%\r50%\r100%\r\n", "100%\n"),
            ("downloading…\rdone\r\n", "done\n"),
            ("last state\r", "last state"),
            ("10%\r\x1b[K", ""),
            ("working\r\x1b[2Kdone\n", "done\n"),
            ("working\x1b[1Gdone\n", "done\n"),
        ],
    )
    def test_a_carriage_return_starts_the_line_again(self, output: str, text: str) -> None:
        assert cleaned(output) == text

    @pytest.mark.parametrize(
        ("output", "text"),
        [
            ("helo\blo\n", "hello\n"),
            ("ab\b \b\n", "a\n"),
            ("ab\b\x1b[K\n", "a\n"),
            ("\b\b\bx\n", "x\n"),
            ("hello\b\bXlo\b\b\n", "helXlo\n"),
            ("abc\x1b[2DX\n", "aXc\n"),
            ("a\x1b[3Cb\n", "a   b\n"),
            ("abcd\x1b[3GX\n", "abXd\n"),
            ("abcd\r\x1b[2CX\n", "abXd\n"),
            ("abcd\x1b[3D\x1b[2P\n", "ad\n"),
            ("ad\x1b[D\x1b[2@bc\n", "abcd\n"),
            ("abc\x1b[2D\x1b[1K\n", " bc\n"),
        ],
    )
    def test_what_is_changed_within_a_line_is_changed(self, output: str, text: str) -> None:
        assert cleaned(output) == text


class TestSequences:
    @pytest.mark.parametrize(
        "sequence",
        [
            "\x1b[31m",
            "\x1b[38;2;1;2;3m",
            "\x1b[?25l",
            "\x1b[?2004h",
            "\x1b[>4;2m",
            "\x1b[6n",
            "\x1b[ q",
            "\x1b]0;a title\x07",
            "\x1b]8;;https://example.org\x1b\\",
            "\x1bP1$r0m\x1b\\",
            "\x1b_application\x1b\\",
            "\x1b^private\x1b\\",
            "\x1bktitle\x1b\\",
            "\x1b(B",
            "\x1b)0",
            "\x1b#8",
            "\x1b7",
            "\x1b8",
            "\x1b=",
            "\x07",
            "\x00",
            "\x0e\x0f",
            "\x7f",
            "\x9b",
            "\x1b\x1b[m",
            "\x1b[12\x18",
            "\x1bPcut off\x1a",
        ],
    )
    def test_are_dropped(self, sequence: str) -> None:
        assert cleaned(f"be{sequence}fore\n") == "before\n"

    @pytest.mark.parametrize(
        "move",
        [f"\x1b{rest}" for rest in "[A [3B [H [12;40H [5d [2J [E [F M D E [?1049h [?1049l c".split()],
    )
    def test_a_move_to_another_row_ends_a_line_that_has_text(self, move: str) -> None:
        assert cleaned(f"one  {move}two") == "one\ntwo"
        assert cleaned(f"one\n{move}{move}   {move}two") == "one\ntwo"

    def test_so_do_vertical_tabs_and_form_feeds(self) -> None:
        assert cleaned("one\vtwo\fthree") == "one\ntwo\nthree"

    def test_erasing_below_does_not(self) -> None:
        assert cleaned("prompt\r\x1b[Jnew prompt\n") == "new prompt\n"
        assert cleaned("kept\x1b[0J\n") == "kept\n"

    def test_a_title_that_never_ends_swallows_one_line_only(self) -> None:
        assert cleaned("\x1b]0;title\nnext line\n") == "next line\n"

    def test_a_control_character_inside_a_sequence_acts(self) -> None:
        assert cleaned("a\x1b[3\n1mb") == "a\nb"

    def test_what_cannot_be_a_sequence_ends_it(self) -> None:
        assert cleaned("\x1b[3ü\n\x1bü\n\x1b(ü\n") == "ü\nü\nü\n"

    def test_a_move_far_away_costs_nothing(self) -> None:
        assert len(cleaned("\x1b[999999999Cx")) <= 1001

    def test_endless_parameters_cost_nothing(self) -> None:
        assert cleaned("\x1b[" + "1;" * 100_000 + "mx") == "x"

    def test_a_line_longer_than_any_screen_can_go_on(self) -> None:
        assert cleaned("x" * 5000 + "\x1b[Cy") == "x" * 5000 + "y"


class TestPieces:
    def test_a_line_comes_out_when_nothing_can_change_it_any_more(self) -> None:
        cleaner = TextCleaner()
        assert cleaner.feed("10%") == ""
        assert cleaner.feed("\r20%\r") == ""
        assert cleaner.feed("\n30%") == "20%\n"
        assert cleaner.finish() == "30%"

    def test_after_the_end_it_starts_anew(self) -> None:
        cleaner = TextCleaner()
        cleaner.feed("a\x1b]0;tit")
        assert cleaner.finish() == "a"
        assert cleaner.feed("b\n") == "b\n"

    #: Text made of what matters here, so that sequences form and break often.
    output = st.text(
        st.sampled_from("ab ü漢\t\n\r\b\x1b\x1b[]()P_\\KHGCDJmX;?0123\x07\x18\x9b\x9c\x7f\x00"), max_size=60
    )

    @given(output, st.lists(st.integers(0, 60)))
    def test_where_it_is_cut_makes_no_difference(self, output: str, cuts: list[int]) -> None:
        places = [0, *sorted(cuts), len(output)]
        pieces = [output[start:end] for start, end in pairwise(places)]
        assert cleaned(*pieces) == cleaned(output)

    @given(st.one_of(output, st.text(max_size=60)))
    def test_no_control_character_comes_out(self, output: str) -> None:
        text = cleaned(output)
        assert not [letter for letter in text if letter not in "\n\t" and (letter < " " or "\x7f" <= letter <= "\x9f")]

    @given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1).filter(lambda text: text.strip(" ")))
    def test_plain_text_is_never_lost(self, text: str) -> None:
        assert cleaned(f"\x1b[1m{text}\x1b[0m\r\n") == text + "\n"


class TestRepainting:
    @pytest.mark.parametrize(
        "output",
        [
            "\x1b[?1049h\x1b[Hhello",
            "\x1b[2A\x1b[2Kone\r\n\x1b[2Ktwo\r\n" * 20,
            "".join(f"\x1b[{row};1Hrow {row}" for row in range(1, 25)),
            "\x1b[?2026h\x1b[2Kframe\x1b[?2026l" * 20,
        ],
    )
    def test_is_seen(self, output: str) -> None:
        cleaner = TextCleaner()
        cleaner.feed(output)
        assert cleaner.repaints

    @pytest.mark.parametrize(
        "output",
        [
            "plain\r\n" * 1000,
            "".join(f"\r\x1b[K\x1b[32m{done}%\x1b[0m" for done in range(101)),
            "\x1b[H\x1b[2Ja shell cleared its screen\r\n$ ",
            "typed\x1b[3D\x1b[P\x1b[10C\r\n" * 100,
        ],
    )
    def test_is_not_what_prints_line_after_line(self, output: str) -> None:
        cleaner = TextCleaner()
        cleaner.feed(output)
        assert not cleaner.repaints
