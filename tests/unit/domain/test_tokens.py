"""What a token looks like, what is kept of it, and when it is good."""

from dataclasses import replace

import pytest

from corral.domain import tokens
from corral.domain.audit_detail import NOT_KEPT, bounded
from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.tokens import Holder, Token

TEXT = tokens.spelled("3f9a6c01d2e4", "A" * 43)
TOKEN = Token(id="3f9a6c01d2e4", user="ann", uid=1001, digest=tokens.digest(TEXT), created=100.0)


def test_its_id_can_be_read_from_it_and_nothing_of_it_is_kept() -> None:
    assert tokens.id_in(TEXT) == TOKEN.id
    assert "A" * 43 not in repr(TOKEN)
    assert tokens.fits(TEXT, TOKEN)
    assert not tokens.fits(TEXT[:-1] + "B", TOKEN)
    assert not tokens.fits("é\udcff", TOKEN)


@pytest.mark.parametrize("text", ["", "x", TEXT + "A", TEXT[:-1], TEXT.upper(), " " + TEXT, TEXT + "\n", "A" * 10_000])
def test_what_is_no_token_has_no_id(text: str) -> None:
    assert tokens.id_in(text) == ""


@pytest.mark.parametrize(
    ("token", "holder", "now", "state"),
    [
        (TOKEN, Holder(uid=1001), 1e9, tokens.VALID),
        (TOKEN, Holder(uid=1001, since=100.0), 1e9, tokens.VALID),
        (TOKEN, None, 101.0, tokens.VOID),
        (TOKEN, Holder(uid=1002), 101.0, tokens.VOID),  # the name is another's by now
        (TOKEN, Holder(uid=1001, since=100.5), 101.0, tokens.VOID),  # who left, and came back
        (replace(TOKEN, expires=200.0), Holder(uid=1001), 199.9, tokens.VALID),
        (replace(TOKEN, expires=200.0), Holder(uid=1001), 200.0, tokens.EXPIRED),
    ],
)
def test_when_it_is_good(token: Token, holder: Holder | None, now: float, state: str) -> None:
    assert tokens.state(token, holder, now) == state


def test_what_cannot_be_made() -> None:
    tokens.must_be_possible((), "ann", "laptop", 60.0)
    for note in ("x" * 101, "two\nlines", "\x1b[31m"):
        with pytest.raises(WrongUseError):
            tokens.must_be_possible((), "ann", note, None)
    for seconds in (0.0, -1.0, 59.0, 1e12, float("nan"), float("inf")):
        with pytest.raises(WrongUseError):
            tokens.must_be_possible((), "ann", "", seconds)
    many = [TOKEN] * tokens.MOST_OF_ONE
    tokens.must_be_possible(many, "ben", "", None)
    with pytest.raises(RefusedError):
        tokens.must_be_possible(many, "ann", "", None)


def test_one_that_gets_into_the_trail_is_struck_out() -> None:
    assert bounded({"why": f"asked with {TEXT}"}) == {"why": f"asked with {NOT_KEPT}"}
