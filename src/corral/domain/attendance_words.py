"""How people are told that nobody looks after a team, and what that brings. Pure."""

from __future__ import annotations

from corral.domain.attendance import NOTIFY, PAUSE, STOP, Attendance, Unattended
from corral.domain.notices import ANNOUNCED, DONE, UNATTENDED, Notice
from corral.domain.spec_durations import roughly, shown_duration


def announcement(rule: Unattended, seconds: float) -> str:
    """What will happen in so many seconds."""
    what = {NOTIFY: "that is told", PAUSE: "it is paused", STOP: "it is stopped"}
    return (
        f"nobody has looked after this team for a while: in {roughly(seconds)} {what[rule.then]}, "
        "unless somebody attaches, answers or sends something"
    )


def happened(rule: Unattended, reaction: str) -> str:
    """What was done, and how it is undone."""
    alone = f"nobody has looked after this team for {shown_duration(rule.after)}"
    what = {
        PAUSE: ", so it is paused; it goes on when somebody shows up: corral attach, send or resume, or a key in a "
        "terminal that is attached",
        STOP: ", so it is stopped; corral up starts it again",
    }
    return alone + what.get(reaction, "")


def announced_notice(team: str, rule: Unattended, known: Attendance, seconds: float) -> Notice:
    """It will happen in so many seconds."""
    left = roughly(seconds)
    shown = {
        NOTIFY: f"people are told in {left} that nobody is there: press a key if you are",
        PAUSE: f"it is paused in {left}, as nobody is there: press a key if you are",
        STOP: f"it is stopped in {left}, as nobody is there: press a key if you are",
    }
    return _notice(
        team,
        known,
        what=announcement(rule, seconds),
        shown=shown[rule.then],
        more={"stage": ANNOUNCED, "then": rule.then, "seconds": round(seconds, 3)},
    )


def done_notice(team: str, rule: Unattended, known: Attendance, problem: str = "") -> Notice:
    """It was done; or `problem` says why it could not be."""
    then, long = known.reaction, shown_duration(rule.after)
    what = f"{happened(rule, NOTIFY)}, and to {then} it failed: {problem}" if problem else happened(rule, then)
    # The remedy early: a terminal may be narrow.
    shown = {
        PAUSE: f"it is paused, as nobody was there for {long}: press a key to wake it",
        STOP: f"it is stopped, as nobody was there for {long}: corral up starts it again",
    }
    return _notice(
        team,
        known,
        what=what,
        shown=what if problem else shown.get(then, what),
        more={"stage": DONE, "then": then, "agents": list(known.agents), **({"reason": problem} if problem else {})},
    )


def _notice(team: str, known: Attendance, *, what: str, shown: str, more: dict[str, object]) -> Notice:
    return Notice(
        kind=UNATTENDED,
        team=team,
        headline=f"{team} is alone",
        what=what,
        since=known.seen.wall,
        more=more,
        shown=shown,
    )
