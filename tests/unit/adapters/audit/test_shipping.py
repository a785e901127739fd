"""Checkpoints that were shipped are evidence: they stay as they are, and a trail that is not theirs is found by it."""

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.audit.shipping import Shipper
from corral.adapters.audit.trail import Trail
from corral.adapters.audit.verifying import verify
from corral.domain.audit_sequence import CUT_OFF, REPLACED
from corral.domain.audit_terms import AuditTerms
from corral.domain.errors import BrokenTrailError, CorralError, WrongUseError
from tests.support.audit import TERMS, Clock, checkpoints, lines, note, remarked, write


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where checkpoints are shipped to."""
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "trail"


def _work(directory: Path, kept: Path, count: int, clock: Clock, terms: AuditTerms = TERMS) -> list[CorralError]:
    """What a daemon does between its start and its end; the troubles that it had with shipping."""
    ship = Shipper((), str(kept))
    troubles: list[CorralError] = []

    def shipped() -> None:
        line = trail.to_ship()
        if line is not None:
            try:
                ship(line)
            except CorralError as error:
                troubles.append(error)

    trail = Trail.open(str(directory), terms, clock, {})
    shipped()
    for number in range(count):
        trail.append([note(number)])
        shipped()
        if trail.unsigned >= terms.checkpoint_entries:
            trail.checkpoint()
            shipped()
    trail.close()
    shipped()
    return troubles


def _files(kept: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(kept.iterdir())}


def _comparing(kept: Path) -> AuditTerms:
    return replace(TERMS, checkpoint_directory=str(kept))


def test_every_checkpoint_is_handed_out_once_also_those_of_openings_and_of_ends_of_files(
    directory: Path, kept: Path
) -> None:
    clock = Clock()
    for _ in range(2):
        assert _work(directory, kept, 12, clock, _comparing(kept)) == []
    assert len(checkpoints(directory)) > 2
    assert list(_files(kept).values()) == [line.data for line in lines(checkpoints(directory))]


def test_a_trail_that_was_put_back_and_worked_on_does_not_replace_what_was_shipped(
    directory: Path, kept: Path, tmp_path: Path
) -> None:
    clock = Clock()
    _work(directory, kept, 5, clock)
    shutil.copytree(directory, tmp_path / "earlier")
    _work(directory, kept, 15, clock)
    before = _files(kept)
    shutil.rmtree(directory)
    (tmp_path / "earlier").rename(directory)
    troubles = _work(directory, kept, 60, clock)
    assert troubles
    assert {type(error) for error in troubles} == {BrokenTrailError}
    assert "was put back to an earlier state" in str(troubles[0])
    after = _files(kept)
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before), "it went on beyond them"
    assert verify(str(directory)).ok, "nobody can tell from the trail alone"
    flaws = verify(str(directory), shipped=str(kept)).flaws
    assert {flaw.what for flaw in flaws} == {REPLACED}


def test_also_when_the_trail_has_dropped_what_differs(directory: Path, kept: Path, tmp_path: Path) -> None:
    clock = Clock()
    _work(directory, kept, 5, clock)
    shutil.copytree(directory, tmp_path / "earlier")
    _work(directory, kept, 15, clock)
    shutil.rmtree(directory)
    (tmp_path / "earlier").rename(directory)
    _work(directory, kept, 100, clock, replace(TERMS, keep_size=1))
    (flaw,) = verify(str(directory), shipped=str(kept)).flaws
    assert flaw.what == REPLACED
    assert "does not follow the checkpoint" in flaw.message


def _no_links(source: str, target: str) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
def test_the_same_again_is_fine_and_another_one_is_not(
    directory: Path, kept: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", _no_links)
    write(directory, 3)
    first, second, *_ = (line.data for line in lines(checkpoints(directory)))
    ship = Shipper((), str(kept))
    for _ in range(2):
        ship(first)
    (path,) = kept.iterdir()
    assert path.read_bytes() == first
    path.write_bytes(second)
    with pytest.raises(BrokenTrailError):
        ship(first)
    assert _files(kept) == {path.name: second}


def test_what_somebody_puts_there_in_the_same_moment_stays_as_well(
    directory: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(directory, 3)
    first, second, *_ = (line.data for line in lines(checkpoints(directory)))
    ship = Shipper((), str(kept))
    ship(first)
    (path,) = kept.iterdir()
    path.write_bytes(second)
    monkeypatch.setattr(os.path, "lexists", lambda _: False)  # as it was when it was looked at
    with pytest.raises(BrokenTrailError):
        ship(first)
    assert _files(kept) == {path.name: second}


def test_one_way_that_fails_does_not_keep_the_other_from_being_tried(directory: Path, kept: Path) -> None:
    write(directory, 3)
    line = lines(checkpoints(directory))[0].data
    taken = kept.parent / "taken"
    with pytest.raises(CorralError, match="could not be put into"):
        Shipper(("/bin/sh", "-c", f"cat > {taken}"), str(kept / "nowhere"))(line)
    assert taken.read_bytes() == line
    with pytest.raises(CorralError, match="exit code 1"):
        Shipper(("/bin/false",), str(kept))(line)
    assert list(_files(kept).values()) == [line]
    with pytest.raises(CorralError, match=r"/bin/false: exit code 1; .*could not be put into") as both:
        Shipper(("/bin/false",), str(kept / "nowhere"))(line)
    assert "checkpoint_command" in both.value.remedy
    assert "checkpoint_directory" in both.value.remedy


# What the daemon finds out at its start


def _cut_off(directory: Path, earlier: Path, clock: Clock) -> None:
    shutil.rmtree(directory)
    shutil.copytree(earlier, directory)
    directory.chmod(0o700)


def _gone_on_with(directory: Path, earlier: Path, clock: Clock) -> None:
    _cut_off(directory, earlier, clock)
    write(directory, 40, clock=clock)


@pytest.mark.parametrize(("how", "words"), [(_cut_off, "were cut off"), (_gone_on_with, "was replaced, or is gone")])
def test_a_trail_that_was_put_back_is_not_gone_on_with(
    directory: Path, kept: Path, tmp_path: Path, how: Callable[[Path, Path, Clock], None], words: str
) -> None:
    clock = Clock()
    terms = _comparing(kept)
    _work(directory, kept, 5, clock, terms)
    shutil.copytree(directory, tmp_path / "earlier")
    _work(directory, kept, 15, clock, terms)
    how(directory, tmp_path / "earlier", clock)
    before = _files(directory)
    with pytest.raises(BrokenTrailError, match=words) as refused:
        Trail.open(str(directory), terms, clock, {})
    assert str(kept) in str(refused.value)
    assert _files(directory) == before
    expected = CUT_OFF if how is _cut_off else REPLACED
    assert expected in {flaw.what for flaw in verify(str(directory), shipped=str(kept)).flaws}


def test_an_old_checkpoint_under_a_new_name_hides_nothing(directory: Path, kept: Path, tmp_path: Path) -> None:
    clock = Clock()
    _work(directory, kept, 5, clock)
    shutil.copytree(directory, tmp_path / "earlier")
    _work(directory, kept, 15, clock)
    oldest = min(kept.iterdir())
    shutil.copy(oldest, kept / oldest.name.replace("0", "9"))
    with pytest.raises(BrokenTrailError, match="were cut off"):
        Trail.open(str(tmp_path / "earlier"), _comparing(kept), clock, {})


def test_what_was_dropped_since_is_not_missed(directory: Path, kept: Path) -> None:
    clock = Clock()
    _work(directory, kept, 5, clock)
    write(directory, 100, terms=replace(TERMS, keep_size=1), clock=clock)
    assert _work(directory, kept, 1, clock, _comparing(kept)) == []


def test_checkpoints_of_another_trail_are_told_of_and_hold_nothing_up(
    directory: Path, kept: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a trail that was kept elsewhere, and begun anew."""
    _work(directory, kept, 5, Clock())
    shutil.rmtree(directory)
    (trouble, *_) = _work(directory, kept, 1, Clock(), _comparing(kept))
    assert isinstance(trouble, BrokenTrailError)
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]
    assert "are none of this audit trail" in caplog.text


def test_a_directory_that_cannot_be_read_holds_nothing_up(
    directory: Path, kept: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(directory, 1, terms=_comparing(kept / "nowhere"))
    assert "could not be compared" in caplog.text


# Verifying with them


def test_verifying_says_with_how_many_it_compared_and_why_with_those(directory: Path, kept: Path) -> None:
    _work(directory, kept, 5, Clock())
    count = len(_files(kept))
    assert verify(str(directory), shipped=str(kept)).remarks == [f"compared with {count} checkpoints in {kept}"]
    (said,) = verify(str(directory), configured=str(kept)).remarks
    assert said == f"compared with {count} checkpoints in {kept} (checkpoint_directory in config.toml)"
    assert remarked(verify(str(directory))) == []


def test_a_trail_is_compared_with_what_is_configured(directory: Path, kept: Path, tmp_path: Path) -> None:
    clock = Clock()
    _work(directory, kept, 5, clock)
    shutil.copytree(directory, tmp_path / "earlier")
    _work(directory, kept, 5, clock)
    assert {flaw.what for flaw in verify(str(tmp_path / "earlier"), configured=str(kept)).flaws} == {CUT_OFF}
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(lines(checkpoints(directory))[0].data)
    report = verify(str(tmp_path / "earlier"), shipped=str(alone), configured=str(kept))
    assert report.ok, "what is said counts instead"


@pytest.mark.parametrize("what", ["directory", "file", "hidden", "a directory in it"])
def test_nothing_to_compare_with_is_an_error_if_it_was_asked_for(directory: Path, kept: Path, what: str) -> None:
    write(directory, 1)
    path = kept
    if what == "file":
        path = kept / "kept.jsonl"
        path.write_bytes(b"\n")
    elif what == "hidden":
        (kept / ".checkpoint.new").write_bytes(b"half of")
    elif what == "a directory in it":
        (kept / "more").mkdir()
    with pytest.raises(WrongUseError, match="there is no checkpoint in"):
        verify(str(directory), shipped=str(path))


def test_nothing_to_compare_with_is_remarked_on_if_it_is_only_configured(directory: Path, kept: Path) -> None:
    write(directory, 1)
    for path, words in ((kept, "there is no checkpoint in"), (kept / "nowhere", "No such file")):
        report = verify(str(directory), configured=str(path))
        assert report.ok
        assert words in report.remarks[0]
