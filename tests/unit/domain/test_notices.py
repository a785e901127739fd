"""What people are told, in which words: the same names for programs whatever it is about, and a remedy for people."""

import pytest

from corral.domain import attendance, attendance_words, lifetime_words, notices
from corral.domain.attendance import NOTIFY, PAUSE, REACTIONS, STOP, Attendance, Unattended
from corral.domain.inbox_records import Cause, Entry
from corral.domain.moments import Moment

SEEN = Moment(wall=1e9, monotonic=1000.0, boot="a")
SINCE = "2001-09-09T01:46:40.000Z"
CAUSE = Cause(team="shop", agent="a", kind="permission", key="k", what="may I?", lines=("may I?",))
ENTRY = notices.of_entry(Entry(number=3, cause=CAUSE, since=1e9, changed=1e9))
#: The width of a terminal that nobody made larger, without the name of a team.
NARROW = 80 - len("a-team: ")


def done(then: str, problem: str = "") -> notices.Notice:
    rule = Unattended(after=7200.0, then=then)
    known = attendance.acting(Attendance(seen=SEEN), rule, ["a", "b"] if then != NOTIFY else [])
    return attendance_words.done_notice("shop", rule, known, problem)


def announced(then: str) -> notices.Notice:
    return attendance_words.announced_notice("shop", Unattended(after=7200.0, then=then), Attendance(seen=SEEN), 600.0)


LIFETIME = (
    lifetime_words.announced_notice("shop", "a", SEEN, 28800.0, 600.0),
    lifetime_words.done_notice("shop", "a", SEEN, 28800.0),
)


def test_programs_get_the_same_names_of_every_kind() -> None:
    names = ENTRY.body.keys()
    every = (*LIFETIME, *(notice(then) for then in REACTIONS for notice in (announced, done)))
    for notice in every:
        assert notice.body.keys() > names
        assert notice.body["entry"] is None
        assert (notice.body["team"], notice.body["kind"], notice.body["since"]) == ("shop", notice.kind, SINCE)
        assert notice.body["stage"] in (notices.ANNOUNCED, notices.DONE)
        assert notice.kind in notices.NOTICE_KINDS


def test_an_entry_is_told_as_the_inbox_has_it() -> None:
    body = ENTRY.body
    assert (body["entry"], body["agent"], body["lines"], body["since"]) == (3, "a", ["may I?"], SINCE)
    assert body["text"] == "shop/a waits for you (permission): may I?"
    assert ENTRY.shown == "", "the settings say whether terminals ring"


def test_what_is_done_to_a_team_is_told_with_what_undoes_it() -> None:
    assert done(PAUSE).body["agents"] == ["a", "b"]
    assert "so it is paused; it goes on when somebody shows up" in done(PAUSE).what
    assert "press a key to wake it" in done(PAUSE).shown
    assert "corral up starts it again" in done(STOP).what
    assert "corral up starts it again" in done(STOP).shown
    assert done(NOTIFY).what == "nobody has looked after this team for 2h"


@pytest.mark.parametrize("then", REACTIONS)
def test_a_narrow_terminal_shows_all_of_the_line(then: str) -> None:
    for notice in (announced(then), done(then)):
        assert 0 < len(notice.shown) <= NARROW


def test_what_could_not_be_done_is_not_told_as_done() -> None:
    failed = done(PAUSE, "it has no cgroup; pause it by hand")
    assert failed.body["reason"] == "it has no cgroup; pause it by hand"
    for text in (failed.what, failed.shown):
        assert "to pause it failed: it has no cgroup; pause it by hand" in text
        assert "it is paused" not in text


def test_a_lifetime_is_told_before_and_after_with_how_to_start_anew() -> None:
    before, after = LIFETIME
    assert str(before.body["text"]).startswith("shop/a is stopped soon: its lifetime of 8h is over in 10m")
    assert after.body["text"] == (
        "shop/a is stopped: its lifetime of 8h is over, and it is stopped; corral restart a starts it anew"
    )
    assert "corral restart a starts it anew" in before.what
