"""Every test of this suite is one about each kind of runtime, unless it says which it is about."""

import shutil
from pathlib import Path

import pytest

from tests.conformance.runtime.stage import KINDS, TMUX, Stage


@pytest.fixture(params=KINDS)
def stage(request: pytest.FixtureRequest, own_directory: Path) -> Stage:
    """A stage for one kind; `stage.only` is for tests about one."""
    if request.param == TMUX and not shutil.which("tmux"):
        pytest.fail("tmux is missing, and half of this suite is about it: ./script/test installs it", pytrace=False)
    return Stage(request.param, own_directory)
