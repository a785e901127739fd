"""Secrets are taken out of output, wherever it is cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.masking import MASK, Masker


def masked(masker: Masker, *pieces: bytes) -> bytes:
    return b"".join(masker.feed(piece) for piece in pieces) + masker.finish()


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_secret_is_masked_wherever_it_is_cut(cut: int) -> None:
    text = b"token: hunter2-secret, done\r\n"
    assert masked(Masker(["hunter2-secret"]), text[:cut], text[cut:]) == b"token: " + MASK + b", done\r\n"


def test_a_secret_that_comes_letter_by_letter_is_masked() -> None:
    assert (
        masked(Masker(["hunter2-secret"]), *(bytes([byte]) for byte in b"a hunter2-secret b")) == b"a " + MASK + b" b"
    )


def test_what_only_begins_like_one_is_shown_in_the_end() -> None:
    masker = Masker(["hunter2-secret"])
    assert masker.feed(b"hunter2") == b""
    assert masker.feed(b" went home") == b"hunter2 went home"
    assert masker.feed(b"hunt") == b""
    assert masker.finish() == b"hunt"


def test_of_two_that_begin_alike_the_longer_one_is_hidden_whole() -> None:
    masker = Masker(["secret", "secret-longer"])
    assert masked(masker, b"secret-", b"longer") == MASK
    assert masked(masker, b"secret", b" x") == MASK + b" x"
    assert masked(masker, b"xsecretsecret-longersecret") == b"x" + MASK * 3


def test_lines_of_a_long_secret_are_masked_each() -> None:
    key = "-----BEGIN KEY-----\nabcdefgh\nijklmnop\n"
    assert b"abcdefgh" not in masked(Masker([key]), b"abcdefgh\r\nijklmnop\r\n")


@pytest.mark.parametrize("value", ["", "1", "true", "8080"])
def test_words_that_are_no_secrets_stay(value: str) -> None:
    assert masked(Masker([value]), b"true 1 8080") == b"true 1 8080"


def test_bytes_that_mean_something_in_a_pattern_mean_nothing_here() -> None:
    assert masked(Masker([r"^[a-z]+$(x)\d"]), rb"is ^[a-z]+$(x)\d ok") == b"is " + MASK + b" ok"


GAPS = (b"\r\n", b"\n", b"\x1b[2;1H", b"\x1b[1;31m", b"\r\n\x1b[K\x1b(B", b"\x1b[?25l\r\n\r\n")


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("at", [1, 7, 13])
def test_a_secret_that_is_wrapped_or_coloured_is_masked_and_the_rest_stays(gap: bytes, at: int) -> None:
    secret = b"hunter2-secret"
    text = b"token: " + secret[:at] + gap + secret[at:] + b", done\r\n"
    wanted = b"token: " + MASK + gap + b", done\r\n"
    assert masked(Masker(["hunter2-secret"]), text) == wanted
    assert masked(Masker(["hunter2-secret"]), *(bytes([byte]) for byte in text)) == wanted
    for cut in range(len(text)):
        assert masked(Masker(["hunter2-secret"]), text[:cut], text[cut:]) == wanted


def test_output_without_secrets_comes_out_as_it_was_whatever_is_in_it() -> None:
    text = b"hun\x1b[3\x1bhunter\r\n\x1b]0;hunter2\x07 hunter2-\x1b[mSecret \x1b(0\x1b"
    for size in (1, 2, 3, 7, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert masked(Masker(["hunter2-secret"]), *pieces) == text


def test_what_is_held_back_is_bounded_though_nothing_but_gaps_comes() -> None:
    masker = Masker(["hunter2-secret"])
    shown = masker.feed(b"hunter2") + b"".join(masker.feed(b"\r\n\x1b[K" * 100) for _ in range(100))
    assert shown == b"hunter2" + b"\r\n\x1b[K" * 10_000


def test_what_is_taken_back_can_be_gone_on_with_by_another() -> None:
    one, other = Masker(["hunter2-secret"]), Masker(["hunter2-secret"])
    shown = one.feed(b"token: hunter2-\x1b[1")
    assert shown + masked(other, one.take_back(), b"msecret") == b"token: " + MASK + b"\x1b[1m"
    assert one.finish() == b""


def test_what_must_be_seen_as_it_comes_waits_only_if_it_looks_like_a_secret() -> None:
    masker = Masker(["hunter2-secret"], lambda _: 3)
    assert masker.feed(b"go hun") == b"go hun"
    assert masker.feed(b"ting, hunt") == b"ting, "
    assert masker.held == 4
    assert masker.feed(b"er2-secret!") == MASK + b"!"


@pytest.mark.parametrize("gap", [b"", b"\r\n", b"\x1b[31m"])
def test_no_more_than_may_be_shown_is_shown_of_one_that_comes_letter_by_letter(gap: bytes) -> None:
    masker = Masker(["hunter2-secret"], lambda _: 3)
    letters = [bytes([byte]) for byte in b"a hunter2-secret b hunter2-secret"]
    shown = masked(masker, *letters[:9], gap, *letters[9:])
    assert shown == b"a hun" + MASK + gap + b" b hun" + MASK


@given(st.lists(st.sampled_from([b"hunter2-secret", b"hun", b"hunter2", b" ", b"\r\n", b"\x1b[1m", b"secret", b"h"])))
def test_however_it_is_cut_the_whole_is_masked_and_nothing_else_is_changed(parts: list[bytes]) -> None:
    text = b"".join(parts)
    assert masked(Masker(["hunter2-secret"], lambda _: 3), *parts) == masked(Masker(["hunter2-secret"]), text)
