"""The recordings of a team: what becomes of them from one file to the next, and when they are too old."""

import asyncio
import json
import os
import time
from pathlib import Path

import msgspec
import pytest

from corral.adapters.files import casts
from corral.adapters.files.casts import CastBook, CastFile
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


@pytest.mark.parametrize("piece", [4 << 10, 3 << 20])
def test_of_a_fast_writer_the_newest_is_kept_and_no_more_than_may_be(tmp_path: Path, piece: int) -> None:
    lines = b"".join(b"\x1b[32mline %06d\x1b[0m\r\n" % number for number in range(120_000))

    async def body() -> None:
        scene = Scene(tmp_path)
        scene.recordings.configure(order())
        scene.recordings.started(RUN)
        for start in range(0, len(lines), piece):
            scene.recordings.output("a", RUN, time.time(), lines[start : start + piece])
        kept = scene.recordings.listed("a")
        scene.recordings.close()
        files = scene.files()
        assert sum(one.bytes for one in kept) <= 1 << 20
        shown = "".join(event[2] for file in files for event in map(json.loads, file.splitlines()[1:]))
        # A quarter is left for the one that is written, and less than one event is missing in each file.
        assert sum(map(len, files)) > (1 << 20) - 2 * (256 << 10)
        assert lines.decode().endswith(shown)
        assert all(json.loads(file.splitlines()[0])["version"] == 2 for file in files)

    asyncio.run(body())


def test_a_limit_that_is_lowered_holds_for_the_file_that_is_open(tmp_path: Path) -> None:
    async def body() -> None:
        scene = Scene(tmp_path)
        scene.recordings.configure(order())
        scene.recordings.started(RUN)
        scene.recordings.output("a", RUN, time.time(), b"x" * (200 << 10) + b"hunter2-")
        scene.recordings.configure(msgspec.structs.replace(order(), max_size=128 << 10))
        scene.recordings.output("a", RUN, time.time(), b"secret done")
        assert sum(one.bytes for one in scene.recordings.listed("a")) <= 128 << 10
        scene.recordings.close()
        assert not [file for file in scene.files() if "hunter2" in file or "secret" in file]

    asyncio.run(body())


def test_a_file_that_is_open_does_not_keep_what_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, write = time.time(), CastFile._write

    def written(cast: CastFile, block: bytes) -> None:
        write(cast, block)
        os.utime(cast._path, (now, now))

    monkeypatch.setattr("corral.keeper.recordings.time.time", lambda: now)
    monkeypatch.setattr(CastFile, "_write", written)

    async def body() -> None:
        nonlocal now
        scene = Scene(tmp_path)
        scene.recordings.configure(order())
        scene.recordings.started(RUN)
        for minute in range(150):
            scene.recordings.output("a", RUN, now, b"minute %03d." % minute)
            scene.recordings.listed("a")  # which writes what there is
            now += 60
        shown = "".join(scene.files())
        assert "minute 149" in shown
        assert "minute 095" in shown, "what is to be kept"
        assert "minute 070" not in shown, "by whole files, of a quarter of the time each"
        scene.recordings.close()

    asyncio.run(body())


def test_what_had_no_place_keeps_its_time_its_size_and_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(casts, "_LONGEST_FILE", 1000)

    async def body() -> None:
        scene = Scene(tmp_path)
        scene.recordings.configure(order())
        scene.recordings.started(RUN)
        began = time.time()
        scene.recordings.output("a", RUN, began, b"x" * 500)
        scene.recordings.output("a", RUN, began + 60, b"y" * 500)
        scene.recordings.resized(RUN, 100, 30)
        scene.recordings.output("a", RUN, began + 120, b"z" * 500 + b"hunter2-")
        first, second, third = scene.recordings.listed("a")
        assert [round(one.began - began) for one in (first, second, third)] == [0, 60, 120]
        scene.recordings.output("a", RUN, began + 121, b"secret done")
        scene.recordings.close()
        files = scene.files()
        assert "hunter2" not in "".join(files)
        assert "********" in files[-1]
        widths = [json.loads(file.splitlines()[0])["width"] for file in files]
        assert widths[:3] == [200, 200, 100]

    asyncio.run(body())
