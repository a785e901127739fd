"""An instance of the test's own, with and without something that listens at its socket."""

from tests.unit.client.conftest import daemon, places

__all__ = ["daemon", "places"]
