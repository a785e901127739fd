"""Credentials: read back as they were given, kept as a hash."""

import pytest

from corral.domain import credentials
from corral.domain.credentials import Names

NAMES = Names(instance="0a1b2c", team="web-shop", agent="api-2", run="00ff")
GIVEN = credentials.issue(NAMES, "s-ecr_et")


def test_it_says_whose_it_is() -> None:
    assert credentials.names_in(GIVEN) == NAMES


@pytest.mark.parametrize(
    "text",
    ["", "x", GIVEN + "\n", GIVEN + ".x", "corral." + GIVEN, GIVEN[:-8], GIVEN + "x" * 400, GIVEN + "é", "corral....."],
)
def test_what_is_none_says_nothing(text: str) -> None:
    assert credentials.names_in(text) is None


def test_only_the_very_same_fits_what_is_kept() -> None:
    kept = credentials.digest(GIVEN)
    assert "ecr" not in kept
    assert credentials.fits(GIVEN, kept)
    assert not credentials.fits(GIVEN + "x", kept)
    assert not credentials.fits(GIVEN, "")
    assert not credentials.fits("", "")
