"""`corral audit`, of files: what is told of a trail, in which words, and with which exit code."""

from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.audit.files import Directory
from corral.cli.audit import fitting
from corral.cli.table import shown_width
from corral.domain.errors import RefusedError
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


ROWS = [
    ["1", "2026-11-18T21:49:56.123Z", "ann", "attach", "shop/api", "yes (owner.steer.any)", "", "9f86d081884c7d65"],
    [
        "12",
        "2026-11-18T21:49:57.456Z",
        "ben:shop/docs",
        "list_recordings",
        "shop/api",
        "NO (agent.read)",
        "403",
        "0" * 16,
    ],
]


def test_the_table_is_as_narrow_as_the_terminal_and_says_what_it_leaves_out() -> None:
    *table, said = fitting(ROWS, 80)
    assert max(map(shown_width, table)) <= 80
    assert "11-18 21:49:57Z  ben:sho" in table[2]
    assert "NO (agent.r" in table[2]
    assert "TRACE" not in table[0]
    assert "corral audit show NUMBER" in said


@pytest.mark.parametrize("width", [None, 200])
def test_where_there_is_room_all_of_it_is_shown(width: int | None) -> None:
    table = fitting(ROWS, width)
    assert len(table) == 3
    assert table[1].endswith("9f86d081884c7d65")


def test_who_may_not_read_the_files_is_told_the_command_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("corral.adapters.audit.files.os.open", refused)
    with pytest.raises(RefusedError) as told:
        Directory.look(str(tmp_path))
    assert "sudo corral audit verify" in told.value.remedy
