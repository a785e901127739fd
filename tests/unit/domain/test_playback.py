"""Playing a recording: forwards, back, faster, and over long pauses."""

from corral.domain.asciicast import Event
from corral.domain.playback import CLEAR, LONGEST_PAUSE, Player

EVENTS: list[Event] = [(0.0, "o", "a"), (1.0, "o", "b"), (1.0, "m", "ann joined"), (500.0, "o", "c"), (501.0, "o", "d")]


def test_everything_is_shown_once_and_in_order() -> None:
    player = Player(EVENTS)
    shown = player.begin()
    while player.wait() is not None:
        shown += player.advance()
    assert shown == CLEAR + "abcd"
    assert player.over


def test_pauses_are_shortened_and_speed_shortens_them_more() -> None:
    player = Player(EVENTS, speed=2.0)
    assert player.wait() == 0.5
    player.advance()
    assert player.wait() == LONGEST_PAUSE / 2


def test_going_back_paints_from_the_beginning_and_going_on_does_not() -> None:
    player = Player(EVENTS)
    assert player.seek(500.0) == "bc"
    assert player.seek(0.5) == CLEAR + "a"
    assert player.seek(10_000.0) == "bcd"
    assert player.seek(-5.0) == CLEAR + "a"


def test_it_begins_where_it_is_told() -> None:
    assert Player(EVENTS, at=2.0).begin() == CLEAR + "ab"


def test_a_pause_stands_still() -> None:
    player = Player(EVENTS)
    player.paused = True
    player.pass_by(100.0)
    assert (player.wait(), player.position) == (None, 0.0)
    player.paused = False
    player.pass_by(0.25)
    assert player.position == 0.25


def test_speed_has_bounds_and_an_empty_recording_is_over() -> None:
    player = Player([], speed=1e9)
    assert (player.over, player.length, player.wait(), player.advance()) == (True, 0.0, None, "")
    assert player.speed <= 64
    for _ in range(20):
        player.faster(0.5)
    assert player.speed >= 0.125
