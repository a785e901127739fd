"""A changed record is what `dataclasses.replace` makes of it, and the one before stays as it was."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from corral.domain.changing import changed
from corral.domain.records import Who


@dataclass(frozen=True, slots=True)
class _Inner:
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    name: str
    inner: _Inner = _Inner()
    words: tuple[str, ...] = ()


def test_it_is_what_replace_makes() -> None:
    record = _Record(name="a", words=("x",))

    assert changed(record, inner=_Inner(2)) == replace(record, inner=_Inner(2))
    assert changed(Who(user="ann", uid=1), agent="b") == Who(user="ann", uid=1, agent="b")


def test_the_record_before_stays_as_it_was() -> None:
    record = _Record(name="a")

    assert changed(record, name="b").name == "b"
    assert record == _Record(name="a")


def test_a_field_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="_Record has no field nmae"):
        changed(_Record(name="a"), nmae="b")


def test_what_was_changed_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        changed(_Record(name="a"), name="b").name = "c"  # type: ignore[misc]
