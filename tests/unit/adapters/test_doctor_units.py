"""The doctor asks the user's service manager, and a bus that hangs holds it up once, for a bounded time."""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.doctor.units import BusUnits
from corral.domain.errors import UnavailableError

_SECONDS = 0.2


@pytest.fixture
def silent_bus(own_directory: Path) -> Iterator[str]:
    """The address of a bus that takes connections and never says a word."""
    path = str(own_directory / "bus")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as listener:
        listener.bind(path)
        listener.listen()
        yield f"unix:path={path}"


def test_a_bus_that_hangs_is_given_up_on_in_time(silent_bus: str) -> None:
    with contextlib.closing(BusUnits(silent_bus, list_seconds=_SECONDS)) as units:
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="did not answer within"):
            units.list_scopes()
        assert time.monotonic() - began < 10 * _SECONDS


def test_and_is_not_asked_again(silent_bus: str) -> None:
    """77 scopes to be stopped must not cost 77 times the patience."""
    with contextlib.closing(BusUnits(silent_bus, list_seconds=_SECONDS)) as units:
        with pytest.raises(UnavailableError):
            units.list_scopes()
        began = time.monotonic()
        for _ in range(77):
            with pytest.raises(UnavailableError, match="did not answer"):
                units.stop("tmux-spawn-1.scope")
        assert time.monotonic() - began < _SECONDS


@pytest.mark.parametrize("address", ["unix:path=/nowhere/bus", "nonsense"])
def test_a_bus_that_is_not_there_is_told_of(address: str) -> None:
    units = BusUnits(address)
    with contextlib.closing(units), pytest.raises(UnavailableError, match="cannot be reached"):
        units.list_scopes()
