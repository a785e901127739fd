"""Writing the trail: rotation, retention, torn writes, a full disk, and files that are not ours."""

import errno
import os
import resource
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.adapters.audit import files
from corral.adapters.audit.ends import MARK
from corral.adapters.audit.reading import Reader
from corral.adapters.audit.trail import Trail
from corral.adapters.audit.verifying import verify
from corral.domain import audit
from corral.domain.audit import CLOSED, GENESIS, OPENED, RECOVERED
from corral.domain.audit_filter import EVERYTHING
from corral.domain.audit_sequence import CUT_OFF, TORN
from corral.domain.errors import RefusedError
from corral.wiring_audit import entries as following
from tests.support.audit import (
    TERMS,
    Clock,
    checkpoints,
    entries,
    lines,
    note,
    put_back,
    remarked,
    segments,
    ship,
    write,
)


def _open(directory: Path, **changes: object) -> Trail:
    return Trail.open(str(directory), replace(TERMS, **changes), Clock(), {"instance": "test"})  # type: ignore[arg-type]


def test_a_trail_is_a_chain_over_its_files(tmp_path: Path) -> None:
    write(tmp_path / "t", 15)
    found = list(entries(tmp_path / "t"))
    assert [entry.number for entry in found] == list(range(1, 18))
    assert [entry.previous for entry in found] == [GENESIS, *(entry.hash for entry in found[:-1])]
    assert (found[0].note.verb, found[-1].note.verb) == (OPENED, CLOSED)
    assert [int(path.stem) for path in segments(tmp_path / "t")] == [
        next(entry.number for entry in found if f"{entry.number:020d}" == path.stem)
        for path in segments(tmp_path / "t")
    ]


def test_files_are_for_their_writer_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write(tmp_path / "t", 15)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "t").iterdir()}
    assert modes.pop("signing.pub") == 0o644
    assert set(modes.values()) == {0o600}


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    clock = Clock()
    for _ in range(4):
        write(tmp_path / "t", 3, clock=clock)
    report = verify(str(tmp_path / "t"))
    assert (report.ok, report.first, report.last) == (True, 1, 4 * 5)
    assert report.signed_through == report.last


def test_a_segment_is_closed_when_it_is_old_and_signed_to_its_end(tmp_path: Path) -> None:
    clock = Clock()
    trail = Trail.open(str(tmp_path / "t"), replace(TERMS, segment_size=1 << 20, segment_age=3600), clock, {})
    trail.append([note(1)])
    clock.time += 3601
    trail.append([note(2)])
    trail.append([note(3)])
    report = verify(str(tmp_path / "t"))
    assert len(segments(tmp_path / "t")) == 2
    assert (report.ok, report.signed_through, report.last) == (True, 2, 4)
    trail.close()


@pytest.mark.parametrize("by", ["size", "age"])
def test_what_was_dropped_is_vouched_for(tmp_path: Path, by: str) -> None:
    terms = replace(TERMS, keep_size=8000) if by == "size" else replace(TERMS, keep_age=20.0)
    kept = tmp_path / "kept.jsonl"
    write(tmp_path / "t", 12)
    ship(tmp_path / "t", kept)
    write(tmp_path / "t", 40, terms=terms, clock=Clock(1_800_001_000.0))
    report = verify(str(tmp_path / "t"), shipped=str(kept))
    assert report.ok
    assert report.first == report.dropped_through + 1 > 14
    assert not (tmp_path / "t" / f"{1:020d}.jsonl").exists()
    assert not (tmp_path / "t" / f"{1:020d}.checkpoints").exists()


def test_dropping_more_than_the_anchor_says_is_found(tmp_path: Path) -> None:
    write(tmp_path / "t", 50, terms=replace(TERMS, keep_size=8000))
    first = segments(tmp_path / "t")[0]
    first.unlink()
    dropped = verify(str(tmp_path / "t"))
    assert [flaw.number for flaw in dropped.flaws] == [dropped.dropped_through + 1]


def test_every_byte_of_an_anchor_counts(tmp_path: Path) -> None:
    write(tmp_path / "t", 50, terms=replace(TERMS, keep_size=8000))
    anchor = tmp_path / "t" / "anchor.json"
    whole = anchor.read_bytes()
    for at in range(len(whole)):
        anchor.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert "anchor.json" in {flaw.file for flaw in verify(str(tmp_path / "t")).flaws}, at
    anchor.unlink()
    assert not verify(str(tmp_path / "t")).ok


def test_two_segments_stay_however_little_is_to_be_kept(tmp_path: Path) -> None:
    write(tmp_path / "t", 50, terms=replace(TERMS, keep_size=1, keep_age=1.0))
    report = verify(str(tmp_path / "t"))
    assert report.ok
    assert len(segments(tmp_path / "t")) == 2
    assert report.checkpoints


# Torn writes


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(left=st.integers(1, 400), of=st.sampled_from(["entries", "checkpoints"]))
def test_a_torn_write_is_told_of_and_nothing_is_lost(tmp_path: Path, left: int, of: str) -> None:
    """As a crash leaves it: all that was written before, and a part of a line."""
    directory = tmp_path / "t"
    shutil.rmtree(directory, ignore_errors=True)
    clock = Clock()
    write(directory, 3, clock=clock)
    before = list(entries(directory))
    path = (segments if of == "entries" else checkpoints)(directory)[-1]
    fragment = lines([path])[-1].data[:-1][:left]
    with path.open("ab") as file:
        file.write(fragment)
    assert TORN in {flaw.what for flaw in verify(str(directory)).flaws}
    write(directory, 3, clock=clock)
    report = verify(str(directory))
    assert report.ok, report.flaws
    assert len(remarked(report)) == 1
    found = list(entries(directory))
    assert found[: len(before)] == before
    told = next(entry for entry in found if entry.note.verb == RECOVERED)
    assert (told.note.detail["file"], told.note.detail["bytes"]) == (path.name, len(fragment + MARK))


def test_what_a_crash_left_cannot_be_edited_either(tmp_path: Path) -> None:
    directory = tmp_path / "t"
    write(directory, 2)
    with segments(directory)[-1].open("ab") as file:
        file.write(b'{"number":9,"time":"20')
    write(directory, 2)
    line = next(line for line in lines(segments(directory)) if line.data.endswith(MARK + b"\n"))
    for at in range(len(line.data) - 1):
        put_back(line, [line.data[:at] + bytes([line.data[at] ^ 1]) + line.data[at + 1 :]])
        assert (line.path.name, line.number) in {(flaw.file, flaw.line) for flaw in verify(str(directory)).flaws}
    put_back(line, [])
    assert verify(str(directory)).ok, "what was never an entry may go"


def test_an_edit_of_the_last_entry_is_not_taken_for_a_crash(tmp_path: Path) -> None:
    directory = tmp_path / "t"
    write(directory, 2)
    last = lines(segments(directory))[-1]
    put_back(last, [last.data.replace(b'"allowed":true', b'"allowed":false')])
    before = segments(directory)[-1].read_bytes()
    with pytest.raises(RefusedError, match=f"{last.path.name}:{last.number}"):
        _open(directory)
    assert segments(directory)[-1].read_bytes() == before


@pytest.mark.parametrize("bytes_left", [0, 200])
def test_entries_that_were_signed_and_cut_off_are_not_taken_for_a_crash(tmp_path: Path, bytes_left: int) -> None:
    directory = tmp_path / "t"
    write(directory, 2)
    last = lines(segments(directory))[-1]
    put_back(last, [last.data[:bytes_left]])
    before = segments(directory)[-1].read_bytes()
    with pytest.raises(RefusedError, match="cut off"):
        _open(directory)
    assert segments(directory)[-1].read_bytes() == before
    assert CUT_OFF in {flaw.what for flaw in verify(str(directory)).flaws}


# A disk that takes no more


def test_what_does_not_fit_was_never_there(tmp_path: Path) -> None:
    """The kernel lets the file grow to a size and no further, as a full disk does: in the middle of a write."""
    directory = tmp_path / "t"
    trail = _open(directory, segment_size=1 << 20)
    trail.append([note(1)])
    path = segments(directory)[-1]
    size = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 700, hard))
        with pytest.raises(RefusedError, match="what cannot be audited is not done"):
            trail.append([note(2), note(3), note(4)])
        assert path.stat().st_size == size, "the part that was taken is taken back"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    trail.append([note(5)])
    trail.close()
    assert verify(str(directory)).ok
    assert [entry.note.detail.get("bytes") for entry in entries(directory)] == [None, 1, 5, None]


def test_a_part_that_cannot_be_taken_back_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that only lets one append (chattr +a) and a disk that fills up in the middle of a line."""
    directory = tmp_path / "t"
    trail = _open(directory, segment_size=1 << 20)

    def half(handle: int, data: bytes) -> None:
        os.write(handle, data[: len(data) * 3 // 4])
        raise OSError(errno.ENOSPC, "No space left on device")

    def refused(handle: int, size: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr("corral.adapters.audit.trail.write_all", half)
        patch.setattr(os, "ftruncate", refused)
        with pytest.raises(RefusedError, match="cannot be written"):
            trail.append([note(1), note(2)])
    trail.append([note(3)])
    trail.close()
    report = verify(str(directory))
    assert report.ok
    assert len(remarked(report)) == 1
    assert RECOVERED in [entry.note.verb for entry in entries(directory)]


def test_a_disk_that_loses_what_it_took_is_trusted_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = _open(tmp_path / "t")

    def fails(handle: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fails)
        trail.append([note(1)])
        with pytest.raises(RefusedError, match="cannot be written"):
            trail.sync()
    with pytest.raises(RefusedError):
        trail.append([note(2)])
    trail.close()
    write(tmp_path / "t", 1, clock=Clock(1_800_001_000.0))
    assert verify(str(tmp_path / "t")).ok


# Files that are not ours


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "t").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="link"):
        _open(tmp_path / "t")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir(mode=0o700)
    (tmp_path / "t").chmod(0o770)
    with pytest.raises(RefusedError, match="open to others"):
        _open(tmp_path / "t")


@pytest.mark.parametrize("how", ["symlink", "hardlink", "directory", "fifo"])
def test_something_else_in_the_place_of_a_segment_is_refused(tmp_path: Path, how: str) -> None:
    directory = tmp_path / "t"
    directory.mkdir(mode=0o700)
    victim, name = tmp_path / "victim", directory / f"{1:020d}.jsonl"
    victim.write_text("precious")
    ways: dict[str, Callable[[], None]] = {
        "symlink": lambda: name.symlink_to(victim),
        "hardlink": lambda: name.hardlink_to(victim),
        "directory": name.mkdir,
        "fifo": lambda: os.mkfifo(name),
    }
    ways[how]()
    with pytest.raises(RefusedError):
        _open(directory)
    assert victim.read_text() == "precious"


def test_a_key_that_others_could_read_signs_nothing(tmp_path: Path) -> None:
    write(tmp_path / "t", 1)
    (tmp_path / "t" / "signing.key").chmod(0o640)
    with pytest.raises(RefusedError, match="proves nothing"):
        _open(tmp_path / "t")


# Reading


def test_a_reader_goes_on_over_segments_while_they_are_written(tmp_path: Path) -> None:
    trail = _open(tmp_path / "t")
    reader = Reader(str(tmp_path / "t"))
    seen: list[int] = []
    for number in range(1, 30):
        trail.append([note(number)])
        seen += [entry.number for entry in reader.entries()]
    trail.close()
    seen += [entry.number for entry in reader.entries()]
    reader.close()
    assert seen == list(range(1, 32))


def test_the_last_entries_are_found_from_the_end(tmp_path: Path) -> None:
    write(tmp_path / "t", 30)
    reader = Reader(str(tmp_path / "t"))
    assert [entry.number for entry in reader.last(12, lambda entry: entry.number % 2 == 0)] == list(range(10, 33, 2))
    assert list(reader.entries()) == []
    reader.go_behind(29)
    assert next(entry.number for entry in reader.entries() if entry.number > 29) == 30
    fifth = list(entries(tmp_path / "t"))[15]
    reader.go_to(fifth.note.time)
    first = next(iter(reader.entries()))
    assert 1 < first.number <= fifth.number
    reader.close()


def test_every_line_that_cannot_be_read_is_counted_once(tmp_path: Path) -> None:
    write(tmp_path / "t", 15)
    for path in segments(tmp_path / "t"):
        first, *_ = lines([path])  # the reader looks at it from the segment before as well
        put_back(first, [first.data.replace(b'"allowed"', b'"allowes"')])
    for read in (lambda reader: list(reader.entries()), lambda reader: reader.last(100, lambda _: True)):
        reader = Reader(str(tmp_path / "t"))
        assert len(read(reader)) == 17 - 3
        assert list(reader.entries()) == []
        assert reader.unreadable == 3
        reader.close()


def test_whoever_follows_is_told_of_a_line_that_cannot_be_read_when_it_comes(tmp_path: Path) -> None:
    write(tmp_path / "t", 1)
    told: list[int] = []
    found = following(str(tmp_path / "t"), EVERYTHING, last=None, after=0, follow=True, unreadable=told.append)
    *_, last = (next(found) for _ in range(3))
    first, digest = audit.sealed(4, note(1), last.hash)
    second, _ = audit.sealed(5, note(2), digest)

    def grow() -> None:
        for data in (b"by the way\n" + first, second):
            time.sleep(0.2)
            with segments(tmp_path / "t")[-1].open("ab") as file:
                file.write(data)

    growing = threading.Thread(target=grow)
    growing.start()
    assert [next(found).number, next(found).number] == [4, 5]
    assert told == [1]
    growing.join()
    found.close()


def test_a_line_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "t", 1)
    data, _ = audit.sealed(4, note(9), list(entries(tmp_path / "t"))[-1].hash)
    with segments(tmp_path / "t")[-1].open("ab") as file:
        file.write(data[:-1])
        file.flush()
        reader = Reader(str(tmp_path / "t"))
        assert [entry.number for entry in reader.entries()] == [1, 2, 3]
        file.write(b"\n")
        file.flush()
        assert [entry.number for entry in reader.entries()] == [4]
        reader.close()


def test_names_sort_as_numbers_do() -> None:
    assert files.segment_name(9) < files.segment_name(10) < files.segment_name(10**18)
