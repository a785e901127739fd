"""What the last records of a program say: the last that says anything, of this run, and nothing that only looks so."""

import json

import pytest

from corral.domain.activity import IDLE, WORKING
from corral.domain.told_records import RecordRule, Told, last_told

RULES = (
    RecordRule(says=WORKING, where=(("type", ("asked", "tool")),)),
    RecordRule(says=IDLE, where=(("type", ("answer",)), ("message.stop", ("end", "length")), ("below", (False,)))),
)


def line(kind: str, at: str = "2026-01-01T00:00:10.500Z", **members: object) -> bytes:
    return json.dumps({"type": kind, "time": at, **members}).encode()


ASKED = line("asked")
ANSWER = line("answer", message={"stop": "end"}, below=False)


def told(*lines: bytes, since: float = 0.0) -> Told | None:
    return last_told(RULES, lines, time="time", since=since)


def test_the_last_that_says_anything_counts() -> None:
    assert told(ASKED) == Told(WORKING, 1767225610.5)
    assert told(ASKED, ANSWER) == Told(IDLE, 1767225610.5)
    assert told(ASKED, ANSWER, line("usage"), b"") == Told(IDLE, 1767225610.5)
    assert told(ANSWER, line("tool")) == Told(WORKING, 1767225610.5)
    assert told(line("usage")) is told() is None


@pytest.mark.parametrize(
    "other",
    [
        line("answer", message={"stop": "end"}, below=True),
        line("answer", message={"stop": "end"}, below=0),  # not what was named, though Python takes one for the other
        line("answer", message={"stop": None}, below=False),
        line("answer", message="end", below=False),
        line("answer", below=False),
        b'{"type": "answer"',  # cut off
        b"[" * 100_000,
        b'"answer"',
        b"\xff\xfe answer",
    ],
)
def test_what_no_rule_knows_says_nothing(other: bytes) -> None:
    assert told(other) is None
    assert told(ASKED, other) == told(ASKED)


@pytest.mark.parametrize("at", ["", "yesterday", "2026-01-01T00:00:10", "0001-01-01T00:00:00Z", 5, None])
def test_a_record_without_its_moment_may_be_of_any_run(at: object) -> None:
    assert told(json.dumps({"type": "asked", "time": at}).encode(), since=1.0) is None


def test_what_an_earlier_run_wrote_is_not_of_this_one() -> None:
    assert told(ASKED, since=1767225610.5) is not None
    assert told(ASKED, since=1767225611.0) is None


def test_without_a_moment_to_look_at_every_record_counts() -> None:
    assert last_told(RULES, [b'{"type": "asked"}']) == Told(WORKING, None)
