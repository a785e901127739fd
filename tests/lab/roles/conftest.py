"""One server for all roles: it takes a while to set one up."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.roles.ground import Server
from tests.lab.roles.ground import server as made
from tests.support.files import remove_tree

if os.environ.get("CORRAL_LAB_INSIDE") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="package")
def server(warm_managers: None) -> Iterator[Server]:
    directory = tempfile.mkdtemp(prefix="roles-", dir="/tmp")
    os.chmod(directory, 0o755)
    try:
        with made(Path(directory)) as one:
            yield one
    finally:
        remove_tree(directory)
