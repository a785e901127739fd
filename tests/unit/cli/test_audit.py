"""`corral audit`, of files: what is told of a trail, in which words, and with which exit code."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.audit import TERMS, Clock, write
from tests.unit.cli.conftest import Corral


@pytest.mark.parametrize("by", ["size", "age"])
def test_what_was_dropped_is_not_said_to_be_old_if_it_was_too_much(corral: Corral, tmp_path: Path, by: str) -> None:
    write(tmp_path / "t", 12)
    terms = replace(TERMS, keep_size=1) if by == "size" else replace(TERMS, keep_age=20.0)
    write(tmp_path / "t", 40, terms=terms, clock=Clock(1_800_001_000.0))
    outcome = corral("audit", "verify", "--directory", str(tmp_path / "t"))
    assert outcome.code == 0
    assert "were dropped because of age or size, as a signed anchor says" in outcome.out


def test_a_private_key_alone_does_not_hold(corral: Corral, tmp_path: Path) -> None:
    write(tmp_path / "t", 1)
    for path in (tmp_path / "t").iterdir():
        if path.name != "signing.key":
            path.unlink()
    outcome = corral("audit", "verify", "--directory", str(tmp_path / "t"))
    assert outcome.code == 7
    assert "there is the key of a trail, and not one entry" in outcome.out


@pytest.mark.parametrize("words", [("verify",), ("key",), ("key", "--json")])
def test_junk_in_the_place_of_the_public_key_is_told_with_a_remedy(
    corral: Corral, tmp_path: Path, words: tuple[str, ...]
) -> None:
    write(tmp_path / "t", 1)
    (tmp_path / "t" / "signing.pub").write_bytes(b"\xff junk")
    outcome = corral("audit", *words, "--directory", str(tmp_path / "t"))
    assert (outcome.code, outcome.out) == (2, "")
    assert "start the daemon again" in outcome.err
