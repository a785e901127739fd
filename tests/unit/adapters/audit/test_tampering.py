"""Whatever one change does to a trail, it is found, and said where: every edit, removal, swap and cut of every line."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.adapters.audit.files import Directory
from corral.adapters.audit.keys import SigningKey
from corral.adapters.audit.trail import Trail
from corral.adapters.audit.verifying import verify
from corral.domain import audit, audit_checkpoints
from corral.domain.audit_sequence import (
    CUT_OFF,
    EDITED,
    FORGED,
    INSERTED,
    REMOVED,
    REORDERED,
    REPEATED,
    REPLACED,
    TORN,
)
from corral.domain.audit_verify import Report
from corral.domain.errors import RefusedError
from tests.support.audit import (
    TERMS,
    Clock,
    Line,
    checkpoints,
    entries,
    lines,
    note,
    put_back,
    segments,
    ship,
    write,
)

_MANY = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trail of three segments, as it was written."""
    directory = tmp_path_factory.mktemp("audit") / "trail"
    write(directory, 15)
    assert len(segments(directory)) == 3
    assert verify(str(directory)).ok
    return directory


@pytest.fixture
def trail(whole: Path, tmp_path: Path) -> Path:
    """The same, to meddle with."""
    copy = tmp_path / "trail"
    shutil.copytree(whole, copy)
    copy.chmod(0o700)
    return copy


def _checked(trail: Path, whole: Path, tmp_path: Path) -> Report:
    """What is said of a trail by whoever kept its checkpoints elsewhere."""
    return verify(str(trail), shipped=str(ship(whole, tmp_path / "shipped.jsonl")))


def _restore(trail: Path, whole: Path) -> None:
    for path in trail.iterdir():
        path.unlink()
    for path in whole.iterdir():
        shutil.copy2(path, trail / path.name)


def _number_of(line: Line) -> int:
    found = audit.read(line.data.removesuffix(b"\n"))
    assert not isinstance(found, str)
    return found.number


@_MANY
@given(data=st.data())
def test_every_edit_of_one_byte_is_found_on_its_line(
    data: st.DataObject, trail: Path, whole: Path, tmp_path: Path
) -> None:
    _restore(trail, whole)
    every = lines([*segments(trail), *checkpoints(trail)])
    line = every[data.draw(st.integers(0, len(every) - 1), "line")]
    at = data.draw(st.integers(0, len(line.data) - 1), "byte")
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != line.data[at]), "value")
    put_back(line, [line.data[:at] + bytes([byte]) + line.data[at + 1 :]])
    report = _checked(trail, whole, tmp_path)
    assert not report.ok
    here = [flaw.line for flaw in report.flaws if flaw.file == line.path.name]
    assert here, report.flaws
    assert here[0] == line.number


@pytest.mark.parametrize("of", [segments, checkpoints])
def test_every_byte_of_a_line_counts(
    trail: Path, whole: Path, tmp_path: Path, of: Callable[[Path], list[Path]]
) -> None:
    line = lines([of(trail)[-1]])[0]
    for at in range(len(line.data)):
        put_back(line, [line.data[:at] + bytes([line.data[at] ^ 1]) + line.data[at + 1 :]])
        report = verify(str(trail))
        assert [flaw.line for flaw in report.flaws if flaw.file == line.path.name][:1] == [1], at
        _restore(trail, whole)


def test_every_removal_of_an_entry_is_found(trail: Path, whole: Path, tmp_path: Path) -> None:
    for line in lines(segments(trail)):
        put_back(line, [])
        flaws = _checked(trail, whole, tmp_path).flaws
        assert {flaw.what for flaw in flaws} <= {REMOVED, CUT_OFF, REORDERED}
        assert _number_of(line) in {flaw.number for flaw in flaws if flaw.what in (REMOVED, CUT_OFF)}
        _restore(trail, whole)


@_MANY
@given(data=st.data())
def test_every_swap_of_two_entries_is_found(data: st.DataObject, trail: Path, whole: Path, tmp_path: Path) -> None:
    _restore(trail, whole)
    every = lines(segments(trail))
    first = data.draw(st.integers(0, len(every) - 2), "first")
    second = data.draw(st.integers(first + 1, len(every) - 1), "second")
    put_back(every[first], [every[second].data])
    put_back(every[second], [every[first].data])
    flaws = _checked(trail, whole, tmp_path).flaws
    where = {(flaw.file, flaw.line) for flaw in flaws}
    assert REORDERED in {flaw.what for flaw in flaws}
    assert (every[second].path.name, every[second].number) in where


@_MANY
@given(data=st.data())
def test_every_cut_is_found(data: st.DataObject, trail: Path, whole: Path, tmp_path: Path) -> None:
    """A file that ends early, anywhere, and everything after it gone as well, or not."""
    _restore(trail, whole)
    files = [*segments(trail), *checkpoints(trail)]
    path = files[data.draw(st.integers(0, len(files) - 1), "file")]
    whole_file = path.read_bytes()
    size = data.draw(st.integers(0, len(whole_file) - 1), "bytes left")
    path.write_bytes(whole_file[:size])
    if path.suffix == ".jsonl" and data.draw(st.booleans(), "and the files after it"):
        for later in segments(trail):
            if later.name > path.name:
                later.unlink()
    report = _checked(trail, whole, tmp_path)
    assert {flaw.what for flaw in report.flaws} & {CUT_OFF, REMOVED, TORN}
    if path.suffix == ".jsonl":
        gone = next(_number_of(line) for line in lines([whole / path.name]) if _end_of(line) > size)
        assert gone in {flaw.number for flaw in report.flaws}


def _end_of(line: Line) -> int:
    return sum(len(data) for data in line.path.read_bytes().splitlines(True)[: line.number])


def test_every_removal_of_a_checkpoint_is_found(trail: Path, whole: Path, tmp_path: Path) -> None:
    for line in lines(checkpoints(trail)):
        put_back(line, [])
        flaws = _checked(trail, whole, tmp_path).flaws
        assert flaws, line
        assert {flaw.what for flaw in flaws} <= {REMOVED, CUT_OFF}
        _restore(trail, whole)


def test_every_swap_of_two_checkpoints_is_found(trail: Path, whole: Path, tmp_path: Path) -> None:
    every = lines(checkpoints(trail))
    for first in every:
        for second in every:
            if (first.path, first.number) < (second.path, second.number):
                put_back(first, [second.data])
                put_back(second, [first.data])
                flaws = verify(str(trail)).flaws
                assert REORDERED in {flaw.what for flaw in flaws}
                assert (second.path.name, second.number) in {(flaw.file, flaw.line) for flaw in flaws}
                _restore(trail, whole)


def test_a_whole_segment_that_is_gone_is_named_by_its_entries(trail: Path, whole: Path, tmp_path: Path) -> None:
    _, second, third = segments(trail)
    second.unlink()
    flaws = _checked(trail, whole, tmp_path).flaws
    number = _number_of(lines([whole / second.name])[0])
    assert [(flaw.what, flaw.file, flaw.line, flaw.number) for flaw in flaws] == [(REMOVED, third.name, 1, number)]
    last = _number_of(lines([whole / second.name])[-1])
    assert f": entries {number} to {last} are missing before this line" in flaws[0].message


def test_two_segments_whose_names_were_swapped_are_found(trail: Path) -> None:
    first, second, _ = segments(trail)
    first.rename(trail / "x")
    second.rename(first)
    (trail / "x").rename(second)
    flaws = verify(str(trail)).flaws
    assert (first.name, 1) in {(flaw.file, flaw.line) for flaw in flaws if flaw.what == REORDERED}


def test_a_line_that_was_put_in_is_found(trail: Path) -> None:
    line = lines(segments(trail))[3]
    put_back(line, [line.data, b"by the way\n"])
    (flaw,) = verify(str(trail)).flaws
    assert (flaw.what, flaw.file, flaw.line) == (INSERTED, line.path.name, line.number + 1)


def test_a_line_that_is_there_twice_is_found(trail: Path) -> None:
    line = lines(segments(trail))[3]
    put_back(line, [line.data, line.data])
    (flaw,) = verify(str(trail)).flaws
    assert (flaw.what, flaw.line, flaw.number) == (REPEATED, line.number + 1, _number_of(line))


def test_an_entry_with_a_new_hash_does_not_fit_the_next(trail: Path) -> None:
    line = lines(segments(trail))[2]
    entry = audit.read(line.data.removesuffix(b"\n"))
    assert not isinstance(entry, str)
    forged, _ = audit.sealed(entry.number, replace(entry.note, allowed=True, rule="forged"), entry.previous)
    put_back(line, [forged])
    flaws = verify(str(trail)).flaws
    assert (REPLACED, line.path.name, line.number + 1) in {(flaw.what, flaw.file, flaw.line) for flaw in flaws}


def _rewritten(trail: Path, number: int) -> None:
    """Change an entry, and chain everything after it anew, as somebody who knows how it is done."""
    previous = ""
    for path in segments(trail):
        made = []
        for line in lines([path]):
            entry = audit.read(line.data.removesuffix(b"\n"))
            assert not isinstance(entry, str)
            said = replace(entry.note, rule="forged") if entry.number == number else entry.note
            data, previous = audit.sealed(entry.number, said, previous or entry.previous)
            made.append(data)
        path.write_bytes(b"".join(made))


@pytest.mark.parametrize("number", range(1, 18))
def test_a_chain_that_was_made_anew_does_not_fit_its_signatures(trail: Path, number: int) -> None:
    _rewritten(trail, number)
    (flaw,) = verify(str(trail)).flaws
    assert flaw.what == REPLACED
    assert number <= flaw.number <= number + TERMS.checkpoint_entries


def test_signing_it_anew_takes_the_key(trail: Path, whole: Path, tmp_path: Path) -> None:
    """With another key it is found at once; with the stolen one, by what was kept elsewhere."""
    _rewritten(trail, 5)
    hashes = {entry.number: entry.hash for entry in entries(trail)}
    handle = Directory.look(str(trail))
    stolen = SigningKey.of(handle)
    handle.close()
    previous = "0" * 64
    for path in checkpoints(trail):
        made = []
        for line in lines([path]):
            signed = audit_checkpoints.read(line.data.removesuffix(b"\n"))
            assert not isinstance(signed, str)
            forged = replace(signed.statement, hash=hashes[signed.statement.number], previous=previous)
            data, previous = audit_checkpoints.signed(forged, stolen.sign)
            made.append(data)
        path.write_bytes(b"".join(made))
    flaws = _checked(trail, whole, tmp_path).flaws
    assert REPLACED in {flaw.what for flaw in flaws}
    other = tmp_path / "other"
    write(other, 1)
    report = verify(str(trail), keys=[str(other / "signing.pub")])
    assert report.signed_through == 0
    assert {flaw.what for flaw in report.flaws} == {EDITED, CUT_OFF}


def test_a_trail_that_was_put_back_to_an_earlier_state_is_found_by_what_was_kept(tmp_path: Path) -> None:
    directory, earlier = tmp_path / "trail", tmp_path / "earlier"
    clock = Clock()
    write(directory, 5, clock=clock)
    shutil.copytree(directory, earlier)
    write(directory, 5, clock=clock)
    shipped = ship(directory, tmp_path / "shipped.jsonl")
    assert verify(str(directory), shipped=str(shipped)).ok
    assert verify(str(earlier)).ok
    assert {flaw.what for flaw in verify(str(earlier), shipped=str(shipped)).flaws} == {CUT_OFF}


def test_what_was_kept_elsewhere_must_be_signed(trail: Path, tmp_path: Path) -> None:
    kept = ship(trail, tmp_path / "shipped.jsonl")
    kept.write_bytes(kept.read_bytes().replace(b'"number":5', b'"number":6', 1))
    assert {(flaw.what, flaw.file) for flaw in verify(str(trail), shipped=str(kept)).flaws} == {(FORGED, str(kept))}


def test_the_last_signature_can_be_cut_off_if_none_was_kept_elsewhere(
    trail: Path,
) -> None:
    """What nobody can find from the files alone is at least told: up to where signatures go."""
    last = lines([checkpoints(trail)[-1]])[-1]
    put_back(last, [])
    report = verify(str(trail))
    assert report.ok
    assert report.signed_through < report.last


def test_the_next_opening_would_have_named_it(trail: Path) -> None:
    clock = Clock(1_800_001_000.0)
    write(trail, 1, clock=clock)
    opened = next(entry for entry in reversed(list(entries(trail))) if entry.note.verb == audit.OPENED)
    named = opened.note.detail["checkpoint"]
    for line in reversed(lines(checkpoints(trail))):
        signed = audit_checkpoints.read(line.data.removesuffix(b"\n"))
        assert not isinstance(signed, str)
        if isinstance(named, int) and signed.statement.checkpoint >= named:
            put_back(line, [])
    assert (CUT_OFF, opened.number) in {(flaw.what, flaw.number) for flaw in verify(str(trail)).flaws}


def test_a_trail_with_entries_and_without_any_checkpoint_does_not_hold(trail: Path) -> None:
    for path in checkpoints(trail):
        path.unlink()
    assert CUT_OFF in {flaw.what for flaw in verify(str(trail)).flaws}


def test_a_trail_whose_files_are_all_gone_was_cut_off(trail: Path) -> None:
    for path in segments(trail):
        path.unlink()
    (flaw,) = verify(str(trail)).flaws
    assert (flaw.what, flaw.number) == (CUT_OFF, 1)


def test_a_file_without_line_ends_does_not_fill_the_memory(trail: Path) -> None:
    with segments(trail)[-1].open("ab") as file:
        file.write(b"x" * (40 << 20))
    report = verify(str(trail))
    assert not report.ok
    assert len(report.flaws) + report.left_out >= 1000
    assert len(report.flaws) <= 1000


def test_what_two_open_trails_write_is_kept_apart(tmp_path: Path) -> None:
    """Only one process writes."""
    first = Trail.open(str(tmp_path / "trail"), TERMS, Clock(), {})
    first.append([note(1)])
    with pytest.raises(RefusedError, match="another process writes"):
        Trail.open(str(tmp_path / "trail"), TERMS, Clock(), {})
    first.close()
