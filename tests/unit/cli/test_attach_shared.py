"""What somebody who only watches is shown of a terminal, whoever sends it."""

import base64

from corral.cli.foreign import Harmless
from corral.cli.session import _rows, _unmuted
from tests.support.instance import Instance
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.cli.test_attach import A
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal, stream


def test_who_watches_is_asked_for_nothing_and_given_nothing_but_a_picture() -> None:
    shown = Harmless()
    said = b"\x1b[?1049h\x1b[c\x1b[>q\x1b]52;c;cm0gLXJm\x07\x1b[1;31m\xe2\x9c"
    assert shown(said) == b"\x1b[?1049h\x1b[1;31m"
    assert shown(b"\x93 done\x1b[?2004h\x1b[6") == "✓ done".encode()
    assert shown(b"n!") == b"!"


def test_a_refusal_paints_nothing(real: Instance, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/agents", document([A]))
    daemon.answer("POST", "/v1/sessions", refusal(403, "denied", "you may not", "ask"))
    code, text = run_on_terminal(real.argv("attach", "--observe", "a"), cwd=real.directory)
    assert code == 4
    assert "you may not" in text
    assert "\x1b[?" not in text
    assert "\x1b[r" not in text


def test_what_was_painted_is_taken_away_again(real: Instance, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/agents", document([A]))
    shown = base64.b64encode(b"\x1b[?25lhello").decode()
    daemon.answer("POST", "/v1/sessions", stream({"joined": "x"}, {"output": shown}, {"over": "it is over"}))
    code, text = run_on_terminal(real.argv("attach", "--drive", "a"), cwd=real.directory)
    assert code == 0
    assert text.index("hello") < text.index("\x1b[?25h") < text.index("it is over")


def test_what_a_keeper_says_of_those_who_are_there_is_shown_as_text() -> None:
    bad = "\x1b]52;c;eA==\x07"
    seat = {"who": bad, "mode": bad, "seat": bad, "since": "2026-01-01T00:00:00Z"}
    assert "\x1b" not in "".join(_rows({"team": "shop", "agent": "a", "seats": [seat]})[0])


def test_who_is_muted_no_more_is_not_said_to_type_while_the_keyboard_is_somebody_elses() -> None:
    ben = {"who": "ben", "seat": "aaaa", "mode": "drive", "keyboard": False}
    cleo = {"who": "{cleo}", "seat": "bbbb", "mode": "drive", "keyboard": True}
    told = _unmuted({"seats": [ben, cleo]}, "ben").format(person="ben")
    assert told == "ben is muted no more; the keyboard is {cleo}'s"
    for seats in ([ben], [{**ben, "keyboard": True}, {**cleo, "keyboard": False}], [{**ben, "mode": "moderate"}, cleo]):
        assert _unmuted({"seats": seats}, "ben").format(person="ben") == "ben can type again"
