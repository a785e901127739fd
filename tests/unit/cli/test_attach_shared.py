"""What somebody who only watches is shown of a terminal, whoever sends it."""

from corral.cli.attach_shared import _Watched
from corral.cli.session import _rows


def test_who_watches_is_asked_for_nothing_and_given_nothing_but_a_picture() -> None:
    shown = _Watched()
    said = b"\x1b[?1049h\x1b[c\x1b[>q\x1b]52;c;cm0gLXJm\x07\x1b[1;31m\xe2\x9c"
    assert shown(said) == b"\x1b[?1049h\x1b[1;31m"
    assert shown(b"\x93 done\x1b[?2004h\x1b[6") == "✓ done".encode()
    assert shown(b"n!") == b"!"


def test_what_a_keeper_says_of_those_who_are_there_is_shown_as_text() -> None:
    bad = "\x1b]52;c;eA==\x07"
    seat = {"who": bad, "mode": bad, "seat": bad, "since": "2026-01-01T00:00:00Z"}
    assert "\x1b" not in "".join(_rows({"team": "shop", "agent": "a", "seats": [seat]})[0])
