"""docs/reference/cli.md is made from the command table, and is current."""

from pathlib import Path

from corral.cli.commands import visible
from corral.cli.reference import render

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"


def test_the_page_is_current() -> None:
    assert PAGE.exists(), f"make it: python -m corral.cli.reference > {PAGE}"
    assert PAGE.read_text(encoding="utf-8") == render(), f"python -m corral.cli.reference > {PAGE}"


def test_it_has_every_command_with_its_options_and_examples() -> None:
    page = render()
    for entry in visible():
        assert f"\n## corral {entry.name}\n" in page
    assert "### corral daemon stop" in page
    assert "| `-n, --lines N` |" in page
    assert "corral up --dry-run " in page
    assert "keeper run" not in page
    assert "--ready-fd" not in page
