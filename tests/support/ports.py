"""Ports for tests that run at once."""

import os

#: Looked up when this is loaded: within a test the environment is another person's.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def own_ports() -> range:
    """A hundred ports, outside of those that the kernel gives out, that no other test which runs now uses."""
    first = 31000 + 100 * (_WORKER % 16)
    return range(first, first + 100)
