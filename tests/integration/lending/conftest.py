"""The scene that all of these play in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.lending.scene import Both


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    scene = Both(tmp_path)
    scene.do(scene.begin())
    yield scene
    scene.loop.run_until_complete(scene.end())
    scene.loop.close()
