"""Limits: how they are kept, sent, compared and written."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.limits import (
    LIMIT_NAMES,
    NO_LIMITS,
    Limits,
    limit_differences,
    limits_as_json,
    limits_from_json,
)
from corral.domain.limits_text import percent, shown_limit, shown_size, size_in_bytes, written_limit

K, M, G, T = 1024, 1024**2, 1024**3, 1024**4
SOME = Limits(cpu_quota=150, memory_max=2 * G)
ANY = st.builds(Limits, **{name: st.none() | st.integers(1, 2**53) for name in LIMIT_NAMES})


def test_the_names_are_the_keys_of_the_file() -> None:
    assert LIMIT_NAMES == ("cpu_weight", "cpu_quota", "memory_high", "memory_max", "tasks_max", "io_weight")


def test_limits_are_true_if_anything_is_limited() -> None:
    assert not NO_LIMITS
    assert SOME


def test_only_what_is_set_is_stored() -> None:
    assert limits_as_json(SOME) == {"cpu_quota": 150, "memory_max": 2 * G}
    assert limits_as_json(NO_LIMITS) == {}


@given(ANY)
def test_what_was_stored_comes_back(limits: Limits) -> None:
    assert limits_from_json(json.loads(json.dumps(limits_as_json(limits)))) == limits


def test_what_a_later_version_stored_is_left_out() -> None:
    stored = {"memory_max": 2 * G, "memory_swap_max": 1, "cpu_quota": "150%", "tasks_max": True, "io_weight": None}
    assert limits_from_json(stored) == Limits(memory_max=2 * G)


@given(ANY)
def test_limits_travel_as_msgpack(limits: Limits) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(limits), type=Limits) == limits


def test_what_differs_is_named_in_the_usual_order() -> None:
    assert limit_differences(SOME, SOME) == ()
    assert limit_differences(SOME, Limits(memory_max=G, cpu_weight=50)) == ("cpu_weight", "cpu_quota", "memory_max")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512M", 512 * M),
        ("1.5G", 1536 * M),
        ("2GiB", 2 * G),
        ("1K", K),
        ("4KiB", 4 * K),
        ("1T", T),
        ("0.5T", 512 * G),
        ("0M", 0),
        ("007M", 7 * M),
        # Rounded down to a byte.
        ("0.0001K", 0),
        ("1.1K", 1126),
        # Exact where a float would not be.
        ("9007199254740993K", 9007199254740993 * K),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "M", "512", "512m", "2GB", "2 G", " 2G", "2G\n", "-2G", "+2G", ".5G", "1.G", "1e3M", "٣M", "50%", "2Gi"],
)
def test_what_is_no_size(text: str) -> None:
    assert size_in_bytes(text) is None


def test_a_number_of_thousands_of_digits_is_no_size() -> None:
    assert size_in_bytes("9" * 5000 + "M") is None
    assert percent("9" * 5000 + "%") is None


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (512 * M, "512M"),
        (1536 * M, "1.5G"),
        (10 * G + 256 * M, "10.25G"),
        (1024 * G, "1T"),
        (1023, "1023"),
        (K, "1K"),
        (1_000_000, "1000000"),
        (0, "0"),
    ],
)
def test_a_size_is_shown_in_the_largest_unit_that_is_exact(size: int, text: str) -> None:
    assert shown_size(size) == text


@given(
    st.integers(0, 2**60)
    | st.builds(lambda count, unit: count * unit, st.integers(0, 5000), st.sampled_from((K, M, G)))
)
def test_a_size_that_is_shown_can_be_written(size: int) -> None:
    text = shown_size(size)
    assert (int(text) if text.isdecimal() else size_in_bytes(text)) == size


@pytest.mark.parametrize(("text", "value"), [("150%", 150), ("0%", 0), ("100", None), ("1.5%", None), ("%", None)])
def test_percent(text: str, value: int | None) -> None:
    assert percent(text) == value


@pytest.mark.parametrize(
    ("name", "value", "shown", "written"),
    [
        ("memory_max", 512 * M, "512M", 'memory_max = "512M"'),
        ("memory_high", 5_000_001, "5000001", "memory_high = 5000001"),
        ("memory_max", None, "infinity", 'memory_max = "infinity"'),
        ("cpu_quota", 150, "150%", 'cpu_quota = "150%"'),
        ("tasks_max", 64, "64", "tasks_max = 64"),
        ("tasks_max", None, "infinity", 'tasks_max = "infinity"'),
        ("cpu_weight", 200, "200", "cpu_weight = 200"),
        ("io_weight", None, "100", "io_weight = 100"),
    ],
)
def test_a_limit_is_shown_as_the_file_has_it(name: str, value: int | None, shown: str, written: str) -> None:
    assert shown_limit(name, value) == shown
    assert written_limit(name, value) == written
