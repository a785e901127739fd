"""The output of an agent on disk."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.adapters.files import logbook
from corral.adapters.files.logbook import LogBook


@pytest.fixture
def path(own_directory: Path) -> str:
    return str(own_directory / "logs" / "shop" / "a.log")


def written(path: str, *pieces: bytes) -> LogBook:
    book = LogBook(path)
    for number, piece in enumerate(pieces):
        book.add(float(number), piece)
    book.flush()
    book.close()
    return book


def text_of(book: LogBook, after: int | None = None, lines: int | None = None, since: float | None = None) -> str:
    return "".join(entry.text for entry in book.read(after=after, lines=lines, since=since).entries)


def test_what_was_written_is_read_again(path: str) -> None:
    assert text_of(written(path, b"one\r\n", b"two\r\n")) == "one\r\ntwo\r\n"


def test_a_log_that_was_never_written_is_empty_and_is_not_made(path: str) -> None:
    assert LogBook(path).read(after=None, lines=None, since=None).entries == []
    assert not Path(path).exists()


def test_a_cursor_goes_on_exactly_where_it_was(path: str) -> None:
    first = written(path, b"one").read(after=None, lines=None, since=None)
    again = written(path, b"two")
    assert text_of(again, after=first.next) == "two"


def test_a_character_split_between_two_pieces_is_whole(path: str) -> None:
    raw = "né".encode()
    assert text_of(written(path, raw[:2], raw[2:])) == "né"


def test_bytes_that_are_no_text_do_not_stop_it(path: str) -> None:
    assert text_of(written(path, b"a\xff\xfeb")) == "a\ufffd\ufffdb"


def test_the_last_lines_are_found_from_the_end(path: str) -> None:
    book = written(path, *(f"line {number}\n".encode() for number in range(1000)))
    assert text_of(book, lines=3).splitlines()[-3:] == ["line 997", "line 998", "line 999"]
    assert len(text_of(book, lines=3).splitlines()) < 10


def test_what_is_older_than_since_is_left_out(path: str) -> None:
    assert text_of(written(path, b"a", b"b", b"c"), since=1.0) == "bc"


def test_the_disk_it_takes_is_bounded_and_the_newest_is_always_there(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logbook, "ROTATE_BYTES", 2000)
    book = LogBook(path)
    for number in range(1000):
        book.add(0.0, f"{number:04}\n".encode())
        book.flush()
    book.close()
    assert sum(file.stat().st_size for file in Path(path).parent.iterdir()) < 6000
    assert text_of(book).endswith("0998\n0999\n")


def test_a_cursor_from_before_the_rotation_says_that_something_is_gone(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logbook, "ROTATE_BYTES", 500)
    book = LogBook(path)
    for number in range(200):
        book.add(0.0, f"{number:04}\n".encode())
        book.flush()
    book.close()
    assert book.read(after=0, lines=None, since=None).cut


def test_a_line_torn_by_a_power_cut_costs_that_line_only(path: str) -> None:
    written(path, b"before")
    with open(path, "ab") as file:
        file.write(b'[1.0,"to')
    page = written(path, b"after").read(after=None, lines=None, since=None)
    assert [entry.text for entry in page.entries] == ["before", "after"]
    assert text_of(written(path, b"later"), after=page.next) == "later"


def fill_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """From now on the disk takes so many bytes of what is written, and no more."""

    def write(descriptor: int, data: bytes) -> int:
        os.write(descriptor, data[:room])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(logbook, "_write_all", write)


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("room", [0, 4, 10, 11, 12])
def test_a_full_disk_at_the_first_write_costs_nothing_that_comes_later(
    path: str, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    book = LogBook(path)
    with monkeypatch.context() as full:
        fill_disk(full, room)
        for _ in range(2):
            book.add(1.0, b"lost\n")
            with pytest.raises(OSError, match="No space"):
                book.flush()
        assert list(Path(path).parent.iterdir()) == []  # nothing is half made
    book.add(2.0, b"kept\n")
    book.flush()
    book.close()
    assert text_of(LogBook(path)) == "kept\n"
    assert text_of(written(path, b"more\n")) == "kept\nmore\n"


def test_a_full_disk_at_a_rotation_costs_nothing_that_was_written(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logbook, "ROTATE_BYTES", 50)
    book = written(path, b"a")
    book.add(1.0, b"x" * 60)
    with monkeypatch.context() as full:
        full.setattr(LogBook, "_begin", no_room)
        with pytest.raises(OSError, match="No space"):
            book.flush()
    assert text_of(book) == "a" + "x" * 60
    book.add(2.0, b"y")
    book.flush()
    book.close()
    assert text_of(book) == "a" + "x" * 60 + "y"


def test_a_torn_line_that_cannot_be_ended_yet_stays_by_itself(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written(path, b"before")
    with open(path, "ab") as file:
        file.write(b'[1.0,"to')
    book = LogBook(path)
    with monkeypatch.context() as full:
        fill_disk(full, 0)
        book.add(2.0, b"lost")
        with pytest.raises(OSError, match="No space"):
            book.flush()
    book.add(3.0, b"after")
    book.flush()
    book.close()
    assert text_of(book) == "beforeafter"


def without_first_line(path: str, *pieces: bytes) -> int:
    """A log as a full disk left it in earlier versions; where it ends."""
    book = written(path, *pieces)
    raw = Path(path).read_bytes()
    Path(path).write_bytes(raw[raw.index(b"\n") + 1 :])
    return book.read(after=None, lines=None, since=None).next


def test_a_log_without_its_first_line_is_read_all_the_same(path: str) -> None:
    end = without_first_line(path, b"one\n", b"two\n")
    page = LogBook(path).read(after=None, lines=None, since=None)
    assert ("".join(entry.text for entry in page.entries), page.next, page.cut) == ("one\ntwo\n", end, False)
    assert text_of(LogBook(path), lines=1).endswith("two\n")
    book = written(path, b"three\n")  # nothing of it is thrown away
    assert text_of(book) == "one\ntwo\nthree\n"
    assert text_of(book, after=end) == "three\n"
    assert Path(path).read_bytes().startswith(b'{"base":0}\n')


def test_also_how_much_of_a_run_is_in_it(path: str) -> None:
    add(path, b"one", (RUN, 3))
    without_first_line(path, b"two")
    assert recorded(path, RUN) == 3


def test_also_behind_one_that_was_rotated_away(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as small:
        small.setattr(logbook, "ROTATE_BYTES", 50)
        written(path, b"x" * 60)
    first = LogBook(path).read(after=None, lines=None, since=None)
    end = without_first_line(path, b"y" * 60)
    assert text_of(LogBook(path), after=first.next) == "y" * 60
    book = written(path, b"z")
    assert text_of(book) == "x" * 60 + "y" * 60 + "z"
    assert text_of(book, after=end) == "z"


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 5))
def test_reading_page_by_page_loses_and_repeats_nothing(pieces: list[bytes], step: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        book = LogBook(f"{directory}/a.log")
        cursor, seen = 0, ""
        for number, piece in enumerate(pieces):
            book.add(0.0, piece)
            if number % step == 0:
                book.flush()
                page = book.read(after=cursor, lines=None, since=None)
                seen += "".join(entry.text for entry in page.entries)
                cursor = page.next
        book.flush()
        seen += text_of(book, after=cursor)
        assert seen == text_of(book, after=0)
        book.close()


RUN, OTHER = "0123456789ab", "ba9876543210"


def recorded(path: str, run: str) -> int:
    return LogBook(path).recorded(run)


def add(path: str, data: bytes, of: tuple[str, int] | None = None) -> None:
    book = LogBook(path)
    book.add(1.0, data, of)
    book.flush()
    book.close()


def test_how_much_of_a_run_is_recorded_is_on_the_disk_with_it(path: str) -> None:
    assert recorded(path, RUN) == 0
    add(path, b"one", (RUN, 3))
    assert recorded(path, RUN) == 3
    add(path, b"a remark of ours")
    assert recorded(path, RUN) == 3
    assert recorded(path, OTHER) == 0
    add(path, b"next", (OTHER, 4))
    add(path, f'0,"{OTHER}",99]\n'.encode())
    assert (recorded(path, RUN), recorded(path, OTHER)) == (3, 4)
    assert text_of(LogBook(path)) == f'onea remark of oursnext0,"{OTHER}",99]\n'


def test_what_is_not_on_the_disk_is_not_recorded(path: str) -> None:
    book = LogBook(path)
    book.add(1.0, b"one", (RUN, 3))
    assert book.recorded(RUN) == 0


def test_half_a_character_is_not_recorded_yet(path: str) -> None:
    raw = "aé".encode()
    add(path, raw[:2], (RUN, 2))
    assert recorded(path, RUN) == 1
    add(path, raw[1:], (RUN, 3))
    assert text_of(LogBook(path)) == "aé"
    assert recorded(path, RUN) == 3


def test_wherever_a_write_was_cut_off_nothing_is_lost_and_nothing_repeated(path: str) -> None:
    add(path, b"one", (RUN, 3))
    kept = len(Path(path).read_bytes())
    add(path, b"two", (RUN, 6))
    raw = Path(path).read_bytes()
    for cut in range(kept, len(raw) + 1):
        Path(path).write_bytes(raw[:cut])
        add(path, b"onetwothree"[recorded(path, RUN) :], (RUN, 11))
        assert text_of(LogBook(path)) == "onetwothree", raw[:cut]


def test_how_much_is_recorded_is_known_over_a_rotation(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logbook, "ROTATE_BYTES", 1000)
    add(path, b"x" * 1000, (RUN, 1000))
    assert Path(path + ".1").exists()
    assert recorded(path, RUN) == 1000
