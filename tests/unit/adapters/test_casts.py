"""Recordings on disk: valid asciicast, bounded, and with no secret in them."""

import json
import os
from pathlib import Path

import pytest

from corral.adapters.files.casts import CastBook, CastFile
from corral.domain.errors import NotFoundError

RUN = "abcdefabcdef"


def begin(directory: Path, at: float = 1000.0, run: str = RUN, max_size: int = 1 << 20, **secrets: str) -> CastFile:
    return CastBook(str(directory / "a"), "shop/a").begin(
        run=run, at=at, size=(80, 24), secrets=secrets, max_size=max_size
    )


def events(directory: Path) -> list[list[object]]:
    (path,) = (directory / "a").glob("*.cast")
    header, *lines = path.read_text().splitlines()
    assert json.loads(header)["version"] == 2
    return [json.loads(line) for line in lines]


def test_output_sizes_and_marks_are_events_in_order(tmp_path: Path) -> None:
    cast = begin(tmp_path)
    cast.output(1000.5, b"hello")
    cast.resized(1001.0, 100, 30)
    cast.marked(1002.0, "ann joined (drive)")
    cast.output(1003.0, "ü".encode()[:1])
    cast.output(1003.5, "ü".encode()[1:])
    cast.close()
    assert events(tmp_path) == [
        [0.5, "o", "hello"], [1.0, "r", "100x30"], [2.0, "m", "ann joined (drive)"], [3.5, "o", "ü"]
    ]  # fmt: skip
    (path,) = (tmp_path / "a").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_output_that_comes_at_once_is_one_event(tmp_path: Path) -> None:
    cast = begin(tmp_path)
    for number in range(100):
        cast.output(1000.0 + number / 100_000, b"x")
    cast.close()
    assert events(tmp_path) == [[0.0, "o", "x" * 100]]


@pytest.mark.parametrize("flushed", [True, False])
def test_no_secret_is_on_the_disk_also_if_it_came_in_two_pieces(tmp_path: Path, flushed: bool) -> None:
    cast = begin(tmp_path, TOKEN="hunter2-secret")
    cast.output(1000.0, b"my hunter2-")
    if flushed:
        cast.flush()
    cast.output(1005.0, b"secret is out")
    cast.close()
    (path,) = (tmp_path / "a").iterdir()
    assert b"hunter2" not in path.read_bytes()
    assert "".join(str(event[2]) for event in events(tmp_path)) == "my ******** is out"


def test_what_was_held_back_is_there_in_the_end(tmp_path: Path) -> None:
    cast = begin(tmp_path, TOKEN="hunter2-secret")
    cast.output(1000.0, b"prompt> hunt")
    cast.flush()
    cast.close()
    assert "".join(str(event[2]) for event in events(tmp_path)) == "prompt> hunt"


def test_a_file_is_full_at_a_quarter_of_what_is_kept(tmp_path: Path) -> None:
    cast = begin(tmp_path, max_size=4000)
    cast.output(1000.0, b"x" * 500)
    cast.flush()
    assert not cast.full
    cast.output(1000.0, b"x" * 900)
    cast.flush()
    assert cast.full
    cast.close()


def test_the_oldest_go_first_and_the_one_that_is_written_never(tmp_path: Path) -> None:
    book = CastBook(str(tmp_path / "a"), "shop/a")
    for number in range(4):
        cast = begin(tmp_path, at=1000.0 + number)
        cast.output(1000.0 + number, b"x" * 1000)
        cast.close()
    ids = [one.id for one in book.listed()]
    size = book.listed()[0].bytes
    assert book.sweep(older_than=0.0, max_size=2 * size, spare=ids[0]) == 2
    assert [one.id for one in book.listed()] == [ids[0], ids[3]]
    os.utime(tmp_path / "a" / f"{ids[3]}.cast", (1.0, 1.0))
    assert book.sweep(older_than=2.0, max_size=1 << 30, spare="") == 1
    assert [one.id for one in book.listed()] == [ids[0]]


@pytest.mark.parametrize("name", ["../../../etc/passwd", "", "x", "0000001000000-abcdefabcdef.cast"])
def test_nothing_else_can_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFoundError):
        CastBook(str(tmp_path / "a"), "shop/a").read(name, 0)


def test_a_link_is_neither_written_nor_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    target = tmp_path / "victim"
    target.write_text("private")
    (tmp_path / "a" / f"0000001000000-{RUN}.cast").symlink_to(target)
    with pytest.raises(NotFoundError):
        CastBook(str(tmp_path / "a"), "shop/a").read(f"0000001000000-{RUN}", 0)
    cast = begin(tmp_path)
    cast.output(1000.0, b"x")
    cast.close()
    assert target.read_text() == "private"


def test_there_is_nothing_before_the_first(tmp_path: Path) -> None:
    assert CastBook(str(tmp_path / "none"), "t").listed() == []


def test_a_pipe_in_the_place_of_a_recording_is_waited_for_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / f"{1:013d}-{RUN}.cast")
    book = CastBook(str(tmp_path / "a"), "shop/a")
    assert book.listed() == []
    with pytest.raises(NotFoundError):
        book.read(f"{1:013d}-{RUN}", 0)


def test_one_whose_file_was_removed_ends_like_any_other(tmp_path: Path) -> None:
    cast = begin(tmp_path, SECRET="hunter2-secret")
    cast.output(1000.5, b"hunter2")
    cast.flush()
    (path,) = (tmp_path / "a").iterdir()
    path.unlink()
    before = len(os.listdir("/proc/self/fd"))
    cast.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1


def test_a_disk_that_took_nothing_at_first_has_the_header_all_the_same(tmp_path: Path) -> None:
    cast = begin(tmp_path)
    (tmp_path / "a").write_text("in the way")
    cast.output(1000.5, b"lost")
    with pytest.raises(OSError, match="File exists"):
        cast.flush()
    (tmp_path / "a").unlink()
    cast.output(1001.0, b"kept")
    cast.close()
    assert events(tmp_path) == [[1.0, "o", "kept"]]
