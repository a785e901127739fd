"""An instance of the test's own, with and without something that listens at its socket."""

from collections.abc import Iterator

import pytest

from corral.places import Places
from tests.unit.client.fake_daemon import FakeDaemon


@pytest.fixture
def places() -> Places:
    return Places.from_environment()


@pytest.fixture
def daemon(places: Places) -> Iterator[FakeDaemon]:
    with FakeDaemon(places.daemon_socket) as fake:
        yield fake
