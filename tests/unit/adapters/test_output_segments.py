"""Output on disk: read by position, with gaps of the exact size, while files come and go."""

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.adapters.subprocess import segments
from corral.adapters.subprocess.host_output import Ledger, Output
from corral.adapters.subprocess.segments import Page, name


def put(directory: Path, **files: bytes) -> None:
    """Files by the position of their first byte: `at_0=b"…"`."""
    for key, data in files.items():
        (directory / name(int(key.removeprefix("at_")))).write_bytes(data)


def read(directory: Path, after: int = 0, limit: int = 1000) -> tuple[bytes, int, int, int]:
    page = segments.read(str(directory), after, limit)
    return page.data, page.next, page.omitted, page.gap_at


def test_nothing_there_is_nothing_to_read(own_directory: Path) -> None:
    assert read(own_directory / "no") == (b"", 0, 0, 0)
    assert segments.end(str(own_directory / "no")) == 0


def test_a_page_goes_over_several_files(own_directory: Path) -> None:
    put(own_directory, at_0=b"abc", at_3=b"def", at_6=b"g")
    assert read(own_directory) == (b"abcdefg", 7, 0, 0)
    assert read(own_directory, after=2, limit=3) == (b"cde", 5, 0, 0)
    assert read(own_directory, after=7) == (b"", 7, 0, 0)
    assert segments.end(str(own_directory)) == 7


def test_what_was_left_out_is_counted_and_has_its_place(own_directory: Path) -> None:
    put(own_directory, at_0=b"abc", at_10=b"xyz")
    assert read(own_directory) == (b"abcxyz", 13, 7, 3)
    assert read(own_directory, after=3) == (b"xyz", 13, 7, 0)
    assert read(own_directory, after=8) == (b"xyz", 13, 2, 0)


def test_a_page_ends_before_the_second_gap(own_directory: Path) -> None:
    put(own_directory, at_2=b"c", at_5=b"f", at_9=b"j")
    assert read(own_directory) == (b"c", 3, 2, 0)
    assert read(own_directory, after=3) == (b"f", 6, 2, 0)
    assert read(own_directory, after=6) == (b"j", 10, 3, 0)


def test_a_full_page_says_nothing_of_the_gap_behind_it(own_directory: Path) -> None:
    put(own_directory, at_0=b"abc", at_10=b"xyz")
    assert read(own_directory, limit=3) == (b"abc", 3, 0, 0)


def test_an_empty_file_behind_a_gap_tells_how_far_it_goes(own_directory: Path) -> None:
    put(own_directory, at_0=b"abc", at_10=b"")
    assert read(own_directory) == (b"abc", 10, 7, 3)
    assert read(own_directory, after=10) == (b"", 10, 0, 0)
    assert segments.end(str(own_directory)) == 10


def test_a_cursor_beyond_the_end_waits_there(own_directory: Path) -> None:
    put(own_directory, at_0=b"abc")
    assert read(own_directory, after=50) == (b"", 50, 0, 0)


def test_other_files_are_not_output(own_directory: Path) -> None:
    put(own_directory, at_0=b"abc")
    (own_directory / "notes").write_bytes(b"no")
    (own_directory / "12").write_bytes(b"no")
    assert read(own_directory) == (b"abc", 3, 0, 0)


@given(
    pieces=st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=6)), max_size=8),
    limits=st.lists(st.integers(1, 7), min_size=1, max_size=40),
)
def test_pages_of_any_size_make_up_the_whole(
    pieces: list[tuple[int, bytes]], limits: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever was kept and left out: no byte is lost, none comes twice, each is where it was written."""
    directory = tmp_path_factory.mktemp("segments")
    written: dict[int, int] = {}
    position = 0
    for gap, data in pieces:
        position += gap
        if data:
            (directory / name(position)).write_bytes(data)
        written |= {position + offset: byte for offset, byte in enumerate(data)}
        position += len(data)
    found: dict[int, int] = {}
    cursor = omitted = 0
    for limit in limits * 8:
        page = segments.read(str(directory), cursor, limit)
        assert len(page.data) <= limit
        assert page.next == cursor + len(page.data) + page.omitted
        for offset, byte in enumerate(page.data):
            at = cursor + offset + (page.omitted if offset >= page.gap_at else 0)
            assert at not in found
            found[at] = byte
        omitted += page.omitted
        cursor = page.next
    assert found == {at: byte for at, byte in written.items() if at < cursor}
    assert omitted + len(found) == cursor


def test_readers_lose_nothing_while_the_tail_is_cut(own_directory: Path) -> None:
    """A writer goes on as fast as it can, and a reader behind it: what it gets is what was written there."""
    directory = own_directory / "p1"
    output = Output(str(directory), 1 << 12, 1 << 16, Ledger(), -1)
    line = b"".join(b"%07d\n" % number for number in range(1 << 13))  # 64 KiB, and each byte tells its position
    total = 400 * len(line)
    over = threading.Event()

    def write() -> None:
        for _ in range(400):
            output.add(line)
        output.close()
        over.set()

    writing = threading.Thread(target=write)
    writing.start()
    try:
        cursor, pages = 0, 0
        while cursor < total:
            ended = over.is_set()
            page = segments.read(str(directory), cursor, 10_000)
            _check(page, cursor, line)
            pages += bool(page.data)
            assert page.next > cursor or not ended
            cursor = page.next
    finally:
        writing.join()
    assert pages > 10
    assert cursor == total


def _check(page: Page, cursor: int, line: bytes) -> None:
    before, after = page.data[: page.gap_at], page.data[page.gap_at :]
    for data, start in ((before, cursor), (after, cursor + len(before) + page.omitted)):
        at = start % len(line)
        assert (line + line)[at : at + len(data)] == data


def test_the_first_and_the_last_bytes_are_kept(own_directory: Path) -> None:
    directory = own_directory / "p1"
    ledger = Ledger()
    output = Output(str(directory), 100, 1 << 20, ledger, -1)
    data = bytes(range(256)) * (1 << 14)  # 4 MiB
    for at in range(0, len(data), 50_000):
        output.add(data[at : at + 50_000])
    output.close()
    kept = sum(path.stat().st_size for path in directory.iterdir())
    assert kept == output.kept == ledger.total
    assert 100 + (1 << 20) <= kept <= 100 + (1 << 20) + (1 << 18)
    page = segments.read(str(directory), 0, len(data))
    assert (page.gap_at, page.next, page.omitted) == (100, len(data), len(data) - kept)
    assert page.data == data[:100] + data[100 - kept :]
    output.forget()
    assert (ledger.total, directory.exists()) == (0, False)


def test_one_who_comes_later_goes_on_where_the_other_ended(own_directory: Path) -> None:
    directory = str(own_directory / "p1")
    first = Output(directory, 4, 1 << 16, Ledger(), -1)
    first.add(b"abcdefgh")
    first.close()
    second = Output(directory, 4, 1 << 16, Ledger(), -1)
    second.go_on()
    assert (second.position, second.kept) == (8, 8)
    second.add(b"ijk")
    second.close()
    assert segments.read(directory, 0, 100).data == b"abcdefghijk"
