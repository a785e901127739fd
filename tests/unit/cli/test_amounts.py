"""Amounts as people read them."""

import pytest

from corral.cli.amounts import count, duration, percentage, size


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, "-"),
        (0, "0"),
        (999, "999"),
        (1000, "1.0K"),
        (1024, "1.0K"),
        (10 * 1024, "10K"),
        (512 << 20, "512M"),
        (1000 << 20, "1.0G"),
        (1_288_490_189, "1.2G"),
        (64 << 40, "64T"),
    ],
)
def test_size(number: int | None, shown: str) -> None:
    assert size(number) == shown


@pytest.mark.parametrize("power", range(0, 60, 5))
def test_a_size_has_four_characters_at_most(power: int) -> None:
    assert all(len(size((1 << power) * part // 7)) <= 4 for part in range(1, 230))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"),
        (0, "0.00s"),
        (0.424, "0.42s"),
        (9.999, "10.0s"),
        (59.96, "1m00s"),
        (192, "3m12s"),
        (3599.7, "1h00m"),
        (5 * 3600 + 180, "5h03m"),
        (86400 * 2 + 4 * 3600, "2d04h"),
    ],
)
def test_duration(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(None, "-"), (0, "0.0"), (99.94, "99.9"), (99.96, "100"), (198.3, "198")]
)
def test_percentage(number: float | None, shown: str) -> None:
    assert percentage(number) == shown


def test_a_count_has_its_limit_where_there_is_one() -> None:
    assert (count(None), count(None, 5), count(12), count(12, 100)) == ("-", "-", "12", "12/100")
