"""What can be a topic and what can be published."""

import pytest

from corral.domain.errors import WrongUseError
from corral.domain.topics import LARGEST_ENTRY, LONGEST_NAME, check_entry, check_name, name_in_log
from corral.service.kv import TOPIC as TOPIC_OF_KV


@pytest.mark.parametrize("name", ["a", "build/done", "A.b_c-9", "kv", "/", "x" * LONGEST_NAME, "topic:".rstrip(":")])
def test_names(name: str) -> None:
    check_name(name)
    assert name_in_log(name) != TOPIC_OF_KV


@pytest.mark.parametrize("name", ["", "a b", "a\n", "topic:kv", "ä", "x" * (LONGEST_NAME + 1), "a\0", "*", "\udcff"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        check_name(name)
    assert "such as build/done" in caught.value.remedy


def test_no_name_can_be_that_of_something_else_in_the_log() -> None:
    """Also one that nobody may use: the names are told apart by how they begin, not by what is forbidden."""
    assert not TOPIC_OF_KV.startswith(name_in_log(""))


def test_what_can_be_published() -> None:
    check_entry(b"\0\xff")
    check_entry(b"x" * LARGEST_ENTRY)
    for wrong in (b"", b"x" * (LARGEST_ENTRY + 1)):
        with pytest.raises(WrongUseError):
            check_entry(wrong)
