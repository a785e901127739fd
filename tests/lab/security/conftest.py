"""One server for all attacks: it takes a while to set one up. Each attack must leave it as it was."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.security.attacks import Attack, is_told, now
from tests.lab.security.ground import CANARY, Ground, attacked
from tests.support.files import remove_tree

if os.environ.get("CORRAL_LAB_INSIDE") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="package")
def ground(warm_managers: None) -> Iterator[Ground]:
    directory = tempfile.mkdtemp(prefix="attacks-", dir="/tmp")
    os.chmod(directory, 0o755)
    try:
        with attacked(Path(directory)) as server:
            yield server
    finally:
        remove_tree(directory)


@pytest.fixture
def fails(ground: Ground) -> Callable[[Attack], None]:
    """Try an attack: it must fail, say why, do no harm, and be told of."""

    def attempt(attack: Attack) -> None:
        since = now()
        done = ground.attempt(attack.who, attack.what)
        said = done.stdout + done.stderr
        assert done.returncode != 0, f"it worked: {said}"
        assert re.search(attack.says, said), said
        assert CANARY not in said
        assert ground.harm() == []
        is_told(attack, since)

    return attempt
