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
