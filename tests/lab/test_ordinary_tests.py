"""The ordinary tests hold here as well: another tmux, git and Python, panes in scopes, an init that reaps."""

import pytest

from tests.lab.support.users import User

_SECONDS = 900.0


@pytest.mark.slow
@pytest.mark.parametrize("directory", ["tests/integration", "tests/faults"])
def test_they_pass_in_the_account_of_a_real_user(dev: User, directory: str) -> None:
    done = dev.run(
        "/opt/corral-venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-m", "not slow", directory,
        cwd="/corral", check=False, timeout=_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-20000:]}\n{done.stderr[-2000:]}"
