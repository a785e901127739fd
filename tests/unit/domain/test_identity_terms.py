"""`[identity]` of `config.toml`: what it may say, and what is told of the rest."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.identity_terms import IdentityTerms, read_identity_terms


@pytest.mark.parametrize(
    ("text", "trusted"),
    [
        ("", False),
        ("[audit]\nenabled = true\n", False),
        ("[identity]\n", False),
        ("[identity]\ntrust_user_units = false\n", False),
        ("[identity]\ntrust_user_units = true\n", True),
    ],
)
def test_units_of_users_are_trusted_if_that_is_said_and_not_otherwise(text: str, trusted: bool) -> None:
    assert read_identity_terms("config.toml", text) == IdentityTerms(trust_user_units=trusted)


@pytest.mark.parametrize(
    "text",
    ["identity = 1\n", "[identity]\ntrust_user_units = 1\n", "[identity]\ntrust_user_unit = true\n", "[identity\n"],
)
def test_what_cannot_be_is_told_and_nothing_is_trusted(text: str) -> None:
    with pytest.raises(BadSpecError, match=r"config\.toml"):
        read_identity_terms("config.toml", text)
