"""Moments, a time back or a time, and how long something may be."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from corral.cli.command import MOMENT, SECONDS, Option
from corral.cli.values import convert
from corral.domain.errors import WrongUseError

SINCE = Option("since", value="WHEN", kind=MOMENT, summary="from when")


def test_a_duration_lies_back() -> None:
    moment = convert(SINCE, "10m")
    assert isinstance(moment, float)
    assert 599 < time.time() - moment < 610


def test_a_time_with_a_zone() -> None:
    expected = datetime(2025, 11, 30, 14, 5, tzinfo=UTC).timestamp()
    assert convert(SINCE, "2025-11-30T14:05:00Z") == expected
    assert convert(SINCE, "2025-11-30 15:05+01:00") == expected


def test_a_time_without_a_zone_is_local() -> None:
    assert convert(SINCE, "2025-11-30T14:05") == datetime(2025, 11, 30, 14, 5).astimezone().timestamp()


def test_longer_ago_than_there_was_time() -> None:
    assert convert(SINCE, "99999999d") == 0.0


@pytest.mark.parametrize("text", ["yesterday", "", "2025-13-01", "-5m"])
def test_what_is_neither(text: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        convert(SINCE, text)
    assert "10m" in caught.value.remedy
    assert "2025-11-30T14:05" in caught.value.remedy


TIMEOUT = Option("timeout", value="S", kind=SECONDS, summary="how long")


def test_the_longest_duration_is_a_year() -> None:
    assert convert(TIMEOUT, "366d") == 366 * 86400.0
    assert convert(TIMEOUT, "0") == 0.0


@pytest.mark.parametrize("text", ["366d1ms", "53w", "99999999999999d", "1" + "0" * 400, "31622401"])
def test_a_longer_one_is_wrong_use(text: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        convert(TIMEOUT, text)
    assert "at most 366d" in caught.value.remedy


def test_a_time_of_the_clock_is_the_last_one_that_there_was() -> None:
    now = datetime.now().replace(microsecond=0)
    for text, moment in (
        (now.strftime("%H:%M:%S"), now),
        ((now - timedelta(hours=1)).strftime("%H:%M:%S"), now - timedelta(hours=1)),
        ((now + timedelta(hours=1)).strftime("%H:%M:%S"), now - timedelta(hours=23)),
    ):
        assert convert(SINCE, text) == moment.timestamp()
    assert convert(SINCE, "00:00") == now.replace(hour=0, minute=0, second=0).timestamp()


@pytest.mark.parametrize("text", ["25:00", "1:2:3:4", "12:", ":", "12:60"])
def test_what_is_no_time_of_the_clock_is_told(text: str) -> None:
    with pytest.raises(WrongUseError, match="since cannot be"):
        convert(SINCE, text)
