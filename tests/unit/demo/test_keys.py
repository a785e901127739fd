"""The key decoder: however the stream is cut, the same comes out."""

import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from corral.demo.keys import (
    BACKSPACE,
    END,
    ENTER,
    ESCAPE,
    INTERRUPT,
    PASTE_END,
    PASTE_START,
    Event,
    Keyboard,
    Lines,
    Pasted,
    TooLong,
    Typed,
)

LIMIT = 64

#: Streams made of what terminals send, of text and of rubbish, so that pastes and sequences really occur.
STREAMS = st.lists(
    st.one_of(
        st.sampled_from(
            [PASTE_START, PASTE_END, b"\x1b", b"\x1b[", b"\x1bO", b"\x1bOA", b"\x1b[A", b"\x1b[1;5C", b"\r", b"\n"]
        ),
        st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")),
        st.binary(max_size=20),
        st.binary(min_size=50, max_size=100),
    ),
    max_size=12,
).map(b"".join)


def decode(data: bytes, cuts: list[int]) -> list[Event]:
    keyboard = Keyboard(LIMIT)
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    events = [event for start, end in itertools.pairwise(edges) for event in keyboard.feed(data[start:end])]
    return events + keyboard.settle()


@given(STREAMS, st.lists(st.integers(min_value=0), max_size=20))
@example("é".encode(), [1])
@example(PASTE_START + "日本".encode() + PASTE_END, [3, 7, 8, 14])
def test_any_split_of_the_stream_decodes_the_same(data: bytes, cuts: list[int]) -> None:
    whole = decode(data, [])
    assert decode(data, cuts) == whole
    assert decode(data, list(range(len(data)))) == whole


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=15))
def test_a_paste_arrives_as_it_was(text: str) -> None:
    if PASTE_END.decode() in text:
        return
    sent = PASTE_START + text.encode() + PASTE_END + b"\r"
    assert decode(sent, []) == [Pasted(text.replace("\r\n", "\n").replace("\r", "\n")), ENTER]


def test_newlines_in_a_paste_belong_to_it_and_enter_outside_submits() -> None:
    assert decode(b"a\x1b[200~b\rc\nd\r\ne\x1b[201~\r", []) == [Typed("a"), Pasted("b\nc\nd\ne"), ENTER]


def test_a_paste_may_hold_control_bytes_and_other_sequences() -> None:
    assert decode(b"\x1b[200~\x03\x1b[A\x1b[200~\x1b[201~", []) == [Pasted("\x03\x1b[A\x1b[200~")]


def test_a_paste_of_exactly_the_limit_is_taken_and_one_byte_more_is_not() -> None:
    assert decode(PASTE_START + b"x" * LIMIT + PASTE_END, []) == [Pasted("x" * LIMIT)]
    over = PASTE_START + b"x" * (LIMIT + 1) + PASTE_END
    assert decode(over + b"y", list(range(len(over)))) == [TooLong(LIMIT + 1), Typed("y")]


def test_keys() -> None:
    assert decode(b"\x7f\x08\x03\x04\n", []) == [BACKSPACE, BACKSPACE, INTERRUPT, END, ENTER]


def test_arrows_and_alt_keys_mean_nothing_and_alt_enter_is_a_newline() -> None:
    assert decode(b"a\x1b[A\x1bOB\x1b[1;5Cb\x1bxc\x1b\rd", []) == [Typed(letter) for letter in "abc\nd"]


def test_an_escape_is_a_key_only_when_nothing_follows() -> None:
    keyboard = Keyboard(LIMIT)
    assert keyboard.feed(b"\x1b") == []
    assert keyboard.undecided
    assert keyboard.settle() == [ESCAPE]
    assert keyboard.settle() == []
    assert keyboard.feed(b"\x1b") + keyboard.feed(b"[A") == []
    assert not keyboard.undecided


def test_bytes_that_are_no_utf8_are_replaced_not_lost() -> None:
    assert decode(b"a\xffb\xc3\r", []) == [Typed("a"), Typed("\ufffd"), Typed("b"), Typed("\ufffd"), ENTER]


@given(st.binary(max_size=60), st.lists(st.integers(min_value=0), max_size=10))
def test_without_a_terminal_every_line_is_a_message(data: bytes, cuts: list[int]) -> None:
    lines = Lines()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    events = [event for start, end in itertools.pairwise(edges) for event in lines.feed(data[start:end])]
    events += lines.close()
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert [event.text for event in events if isinstance(event, Pasted)] == [
        line.decode("utf-8", "replace") for line in expected
    ]
    assert events.count(ENTER) == len(expected)
