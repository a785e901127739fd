"""Texts on their way into a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain import messages
from corral.domain.errors import WrongUseError


@given(st.text())
def test_no_control_character_can_act_as_a_key(text: str) -> None:
    shown = messages.neutralised(text)
    assert not [letter for letter in shown if (ord(letter) < 32 or 127 <= ord(letter) < 160) and letter not in "\n\t"]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t")))
def test_everything_else_arrives_as_it_is(text: str) -> None:
    assert messages.neutralised(text) == text


def test_an_escape_that_would_end_the_paste_becomes_its_picture() -> None:
    assert messages.neutralised("a\x1b[201~b") == "a␛[201~b"


def test_line_ends_of_every_kind_are_kept_as_line_ends() -> None:
    assert messages.neutralised("one\r\ntwo\rthree\n") == "one\ntwo\nthree\n"


def test_a_mebibyte_is_taken_and_one_byte_more_is_not() -> None:
    assert len(messages.checked(b"x" * messages.MAX_BYTES)) == messages.MAX_BYTES
    with pytest.raises(WrongUseError, match="1048577 bytes"):
        messages.checked(b"x" * (messages.MAX_BYTES + 1))


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", "half".encode("utf-16")])
def test_what_is_no_text_is_refused(raw: bytes) -> None:
    with pytest.raises(WrongUseError):
        messages.checked(raw)
