"""Entries of the inbox as a person reads them."""

import time

import pytest

from corral.cli.inbox_shown import headline
from corral.cli.output import plain

ENTRY: dict[str, object] = {"entry": 3, "team": "shop", "agent": "a", "kind": "question", "what": "Which?", "by": "ann"}


def stamp(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))


@pytest.mark.parametrize(("later", "form"), [(0.0, "%H:%M"), (3 * 86400.0, "%Y-%m-%d %H:%M")])
def test_one_that_rests_says_until_when_by_the_clock_of_the_reader(later: float, form: str) -> None:
    until = time.time() + later
    shown = headline({**ENTRY, "state": "snoozed", "since": stamp(until), "until": stamp(until)})
    assert f"(snoozed by ann until {time.strftime(form, time.localtime(int(until)))})" in shown


def test_one_that_is_at_an_end_has_no_such_time() -> None:
    shown = headline({**ENTRY, "state": "answered", "since": stamp(time.time()), "until": None})
    assert "question (answered by ann)  " in shown


def test_a_blank_that_does_not_break_is_a_blank_and_what_moves_a_cursor_is_none() -> None:
    assert plain("❯\u00a01.\u2007Yes\u202fsir\u3000\x1b[2J\x85") == "❯ 1. Yes sir \ufffd[2J\ufffd"
