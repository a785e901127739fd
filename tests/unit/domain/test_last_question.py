"""The launch shell's question to the terminal stays out of what is recorded."""

import pytest

from corral.domain.last_question import CALL, QUESTION, CallDetector, QuestionFilter


def _through(*pieces: bytes) -> bytes:
    questions = QuestionFilter()
    return b"".join(questions.feed(piece) for piece in pieces) + questions.finish()


def test_the_question_is_taken_out_wherever_the_pieces_are_cut() -> None:
    whole = b"last words\r\n" + CALL + QUESTION + b"of a child"
    for first in range(len(whole) + 1):
        for second in range(first, len(whole) + 1):
            assert _through(whole[:first], whole[first:second], whole[second:]) == b"last words\r\nof a child"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x1b",
        b"\x1b]",
        b"\x1b]7391",
        b"\x1b]7391;",
        b"\x1b[",
        b"\x1b[5",
        b"\x1b[5m",
        b"\x1b\x1b[",
        b"\x1b[31mred\x1b[0m",
    ],
)
def test_what_only_begins_like_it_is_kept(text: bytes) -> None:
    assert _through(text) == text
    assert _through(*(text[at : at + 1] for at in range(len(text)))) == text


def test_the_call_is_heard_once_wherever_the_pieces_are_cut() -> None:
    whole = b"last words\r\n" + CALL + b"of a child"
    for first in range(len(whole) + 1):
        for second in range(first, len(whole) + 1):
            calls = CallDetector()
            heard = [calls.heard(piece) for piece in (whole[:first], whole[first:second], whole[second:])]
            assert heard.count(True) == 1
            assert heard.index(True) == sum(at < whole.index(CALL) + len(CALL) for at in (first, second))


def test_what_only_begins_like_a_call_is_none() -> None:
    calls = CallDetector()
    assert not any(calls.heard(piece) for piece in (CALL[:-1], b"x", CALL[1:], b"\x1b", CALL[:3], CALL[4:]))
