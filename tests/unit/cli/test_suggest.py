"""What is suggested for a word that is not known: the nearest, but nothing rash on a guess."""

import pytest

from corral.cli.commands import ENTRIES
from corral.cli.suggest import did_you_mean, is_a_slip
from tests.unit.cli.conftest import Corral

ENDING = ("down", "restart", "rm", "stop")


@pytest.mark.parametrize(("word", "meant"), [("stp", "stop"), ("sttop", "stop"), ("stob", "stop"), ("sotp", "stop")])
def test_one_letter_left_out_put_in_mistaken_or_two_that_changed_places_are_a_slip(word: str, meant: str) -> None:
    assert is_a_slip(word, meant)


@pytest.mark.parametrize(("word", "meant"), [("post", "stop"), ("slop-", "stop"), ("", "rm"), ("reset", "restart")])
def test_more_than_that_is_none(word: str, meant: str) -> None:
    assert not is_a_slip(word, meant)


def test_what_is_rash_is_named_for_a_slip_only() -> None:
    known = ["stop", "ps"]
    assert did_you_mean("stoop", known, rash=["stop"]) == "did you mean stop?"
    assert did_you_mean("stooop", known) == "did you mean stop?"
    assert did_you_mean("stooop", known, rash=["stop"]) == ""


@pytest.mark.parametrize("word", ["top", "reset", "stopall", "st", "re", "start", "remove", "shutdown"])
def test_nobody_is_led_to_a_command_that_ends_something(corral: Corral, word: str) -> None:
    outcome = corral(word)
    assert outcome.code == 2
    assert not set(ENDING) & set(outcome.err.replace("?", "").split())


def test_who_looks_for_top_is_shown_what_is_like_it(corral: Corral) -> None:
    assert corral("top").err == "corral: there is no command 'top'\n  → did you mean stats or ps?\n"
    assert {"stats", "ps"} <= {entry.name for entry in ENTRIES}


def test_a_slip_in_a_command_that_ends_something_is_seen(corral: Corral) -> None:
    assert "did you mean down" in corral("donw").err
