"""Signals by name and number."""

import pytest

from corral.domain.errors import WrongUseError
from corral.domain.signal_names import name_of, number_of


@pytest.mark.parametrize("text", ["INT", "int", "SIGINT", "sigint", "2", " INT "])
def test_by_any_name(text: str) -> None:
    assert number_of(text) == 2


@pytest.mark.parametrize("text", ["", "0", "65", "-1", "FOO", "SIG", "9999999999", "²", "SIGSIGINT"])
def test_what_names_none_is_told_with_all_that_do(text: str) -> None:
    with pytest.raises(WrongUseError) as raised:
        number_of(text)
    assert " INT " in raised.value.remedy


@pytest.mark.parametrize(("number", "name"), [(9, "SIGKILL"), (15, "SIGTERM"), (34, "SIGRTMIN"), (40, "SIGRTMIN+6")])
def test_the_name_of_a_number(number: int, name: str) -> None:
    assert name_of(number) == name
