"""The `[recording]` table."""

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.recording import DEFAULT_RECORDING, Recording, recording_differences
from corral.domain.spec import parse


def read(table: str) -> Recording:
    return parse(f'[team]\nname = "t"\n{table}\n[agents.a]\ncommand = ["cat"]\n', "/x/corral.toml").recording


def test_nothing_is_recorded_unless_the_table_is_there() -> None:
    assert read("") == DEFAULT_RECORDING
    assert not DEFAULT_RECORDING.on
    assert read("[recording]").on


def test_what_the_table_says_counts() -> None:
    assert read('[recording]\non = false\nkeep = "2d"\nmax_size = "10M"') == Recording(
        on=False, keep=2 * 86400.0, max_size=10 << 20, said=True
    )


@pytest.mark.parametrize("line", ['keep = "1s"', 'max_size = "1K"', "on = 1", "enabled = true", 'max_size = "9999T"'])
def test_mistakes_are_told(line: str) -> None:
    with pytest.raises(BadSpecError) as told:
        read(f"[recording]\n{line}")
    assert "recording" in told.value.message


def test_differences_name_the_keys() -> None:
    assert recording_differences(DEFAULT_RECORDING, Recording(on=True)) == ("recording.on",)
