"""`corral` as a function, and a socket with answers of the test's choice behind it."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corral.cli.main import main
from corral.places import Places
from tests.support.instance import Instance
from tests.unit.cli.house import House
from tests.unit.client.fake_daemon import FakeDaemon


class Outcome:
    """What a command gave: its exit code and what it wrote."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        """The one error object on stderr."""
        document = json.loads(self.err)
        assert list(document) == ["error"]
        assert {"code", "message", "remedy"} <= set(document["error"])
        return document["error"]


Corral = Callable[..., Outcome]


@pytest.fixture
def places() -> Places:
    return Places.from_environment()


@pytest.fixture
def daemon(places: Places) -> Iterator[FakeDaemon]:
    with FakeDaemon(places.daemon_socket) as fake:
        yield fake


@pytest.fixture
def house(places: Places, own_directory: Path) -> Iterator[House]:
    """The daemon's real server, with two teams whose processes the test plays."""
    with House(places, own_directory) as one:
        yield one


@pytest.fixture
def corral(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own_directory: Path) -> Corral:
    """Runs `corral` with these words in the test's directory; `stdin` is what comes in through a pipe."""
    monkeypatch.chdir(own_directory)

    def run(*words: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def real(own_directory: Path) -> Instance:
    """The same instance for commands that need a process of their own."""
    return Instance(str(own_directory))


@pytest.fixture
def somebody_was_here(places: Places) -> None:
    """The instance has been used and does not say that it is at rest."""
    os.makedirs(places.home)
    Path(places.database).touch()
