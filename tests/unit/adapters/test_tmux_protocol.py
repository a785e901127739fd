"""Control mode, taken apart."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from corral.adapters.tmux.protocol import Notification, Output, Parser, Reply
from corral.adapters.tmux.quoting import command, quote

SAID = (
    b"%begin 1700000000 1 0\n%end 1700000000 1 0\n"
    b"%session-changed $0 _hub\n"
    b"%extended-output %1 0 : one\\015\\012\\033[31mred\\134\n"
    b"%output %2 two : three\n"
    b"%begin 1700000000 2 1\n%exit\n%end of the story\nplain\n%end 1700000000 2 1\n"
    b"%begin 1700000000 3 1\nno such window\n%error 1700000000 3 1\n"
    b"%pause %1\n"
)
MEANT = [
    Reply(ok=True, lines=[], ours=False),
    Notification("%session-changed", "$0 _hub"),
    Output("%1", b"one\r\n\x1b[31mred\\"),
    Output("%2", b"two : three"),
    Reply(ok=True, lines=["%exit", "%end of the story", "plain"], ours=True),
    Reply(ok=False, lines=["no such window"], ours=True),
    Notification("%pause", "%1"),
]


def test_replies_notifications_and_output_are_told_apart() -> None:
    assert Parser().feed(SAID) == MEANT


@given(st.lists(st.integers(0, len(SAID)), max_size=8))
def test_it_does_not_matter_where_the_stream_is_cut(cuts: list[int]) -> None:
    parser = Parser()
    edges = [0, *sorted(cuts), len(SAID)]
    messages = [message for a, b in pairwise(edges) for message in parser.feed(SAID[a:b])]
    assert messages == MEANT


def test_what_tmux_would_expand_or_split_is_quoted() -> None:
    assert command("display-message", "-p", '#{pid}; $HOME ~ "x"\n') == (
        'display-message -p "#{pid}; \\$HOME ~ \\"x\\"\\n"'
    )


def test_plain_words_stay_plain() -> None:
    assert quote("=builder-1:") == "=builder-1:"


def test_an_empty_argument_stays_an_argument() -> None:
    assert quote("") == '""'
