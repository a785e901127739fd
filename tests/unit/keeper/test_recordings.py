"""The recordings of a team: what becomes of them from one file to the next, and when they are too old."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from corral.adapters.files import casts
from corral.adapters.files.casts import CastBook
from corral.keeper.recordings import TeamRecordings
from corral.ports.casts import RecordingOrder
from corral.ports.sessions import Picture

RUN = "abcdefabcdef"


class Scene:
    """Recordings below a directory; the agent `a` has a secret."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.troubles: list[tuple[str, str]] = []
        self.recordings = TeamRecordings(
            "shop",
            lambda team, agent: CastBook(str(directory / team / agent), f"{team}/{agent}"),
            lambda _: {"TOKEN": "hunter2-secret"},
            self._picture,
            lambda agent, what: self.troubles.append((agent, what)),
        )

    async def _picture(self, run: str) -> Picture:
        return Picture(columns=200, rows=50, data=b"")

    def files(self) -> list[str]:
        return [path.read_text() for path in sorted((self.directory / "shop" / "a").iterdir())]


def left_over(directory: Path) -> Path:
    """A recording of long ago."""
    scene = Scene(directory)
    scene.recordings.configure(order())
    scene.recordings.output("a", RUN, time.time(), b"old")
    scene.recordings.close()
    (path,) = (directory / "shop" / "a").iterdir()
    os.utime(path, (1, 1))
    return path


def order() -> RecordingOrder:
    return RecordingOrder(on=True, keep=3600.0, max_size=1 << 20, masked={"a": ["TOKEN"]})


def test_a_secret_is_masked_that_comes_when_one_file_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(casts, "_LONGEST_FILE", 1000)

    async def body() -> None:
        scene = Scene(tmp_path)
        scene.recordings.configure(order())
        scene.recordings.started(RUN)
        scene.recordings.output("a", RUN, time.time(), b"x" * 2000 + b"hunter2-")
        scene.recordings.listed("a")  # which writes what there is
        scene.recordings.output("a", RUN, time.time(), b"secret done")
        scene.recordings.close()
        first, second = scene.files()
        assert "hunter2" not in first + second
        assert "secret" not in first + second
        assert "******** done" in second

    asyncio.run(body())


def test_what_is_too_old_goes_when_the_team_comes_up(tmp_path: Path) -> None:
    async def body() -> None:
        path = left_over(tmp_path)
        Scene(tmp_path).recordings.configure(order())
        assert not path.exists()

    asyncio.run(body())


@pytest.mark.parametrize("how", ["switched off", "listed"])
def test_what_is_too_old_goes_also_if_nothing_is_recorded_any_more(tmp_path: Path, how: str) -> None:
    async def body() -> None:
        scene = Scene(tmp_path)
        if how == "switched off":
            scene.recordings.configure(order())
        path = left_over(tmp_path)
        scene.recordings.configure(RecordingOrder(keep=3600.0, max_size=1 << 20))
        if how == "listed":
            assert scene.recordings.listed("a") == []
        assert not path.exists()

    asyncio.run(body())
