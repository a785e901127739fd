"""What somebody who only watches is shown of a terminal, whoever sends it."""

from corral.cli.attach_shared import _Watched


def test_who_watches_is_asked_for_nothing_and_given_nothing_but_a_picture() -> None:
    shown = _Watched()
    said = b"\x1b[?1049h\x1b[c\x1b[>q\x1b]52;c;cm0gLXJm\x07\x1b[1;31m\xe2\x9c"
    assert shown(said) == b"\x1b[?1049h\x1b[1;31m"
    assert shown(b"\x93 done\x1b[?2004h\x1b[6") == "✓ done".encode()
    assert shown(b"n!") == b"!"
