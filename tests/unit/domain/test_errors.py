"""Errors on their way over a wire."""

import sqlite3

import pytest

from corral.domain.errors import CorralError, RefusedError, from_json, outline


def test_an_error_arrives_as_what_it_was() -> None:
    sent = RefusedError("held", "wait", holder="ann")
    got = from_json(sent.as_json())
    assert (type(got), got.exit_code, got.as_json()) == (RefusedError, 4, sent.as_json())


@pytest.mark.parametrize("code", ["of_a_later_version", "of_an_adapter_not_loaded_here"])
def test_a_code_that_is_not_known_here_is_a_failure_that_keeps_its_name(code: str) -> None:
    got = from_json({"code": code, "message": "no", "remedy": ""})
    assert (type(got), got.exit_code, got.code) == (CorralError, 1, code)


def test_of_an_exception_that_nobody_foresaw_only_its_kind_and_the_words_of_the_system_are_told() -> None:
    assert outline(KeyError("hunter2")) == "KeyError"
    assert outline(OSError(28, "No space left on device", "/home/ann/secret")) == "OSError: No space left on device"
    assert outline(sqlite3.OperationalError("database or disk is full")) == "OperationalError: database or disk is full"
    assert outline(OSError("what was given: hunter2")) == "OSError"
