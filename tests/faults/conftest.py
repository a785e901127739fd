"""What tests of faults stand on besides: disks that can be filled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support.disks import Disk, small_disk


@pytest.fixture
def home_disk(own_directory: Path) -> Iterator[Disk]:
    """A small disk where the instance has its home. Ask for it before `instance`, so that it goes last."""
    with small_disk(own_directory / "h") as disk:
        yield disk


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this directory runs the real product on a real tmux."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.tmux)
