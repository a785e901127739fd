"""Files that are meddled with under the daemon that writes them, and what it knows of their end."""

import os
from pathlib import Path

import pytest

from corral.adapters.audit.trail import Trail
from corral.adapters.audit.verifying import verify
from corral.domain.audit_sequence import CUT_OFF, REPLACED
from corral.domain.audit_terms import AuditTerms
from corral.domain.audit_verify import Writer
from corral.domain.errors import BrokenTrailError
from tests.support.audit import TERMS, Clock, entries, note, segments, write


@pytest.fixture
def trail(tmp_path: Path) -> Path:
    """A closed trail."""
    write(tmp_path / "closed", 20)
    return tmp_path / "closed"


def test_a_key_without_any_entry_does_not_hold_and_is_not_gone_on_with(trail: Path) -> None:
    for path in (*segments(trail), *trail.glob("*.checkpoints")):
        path.unlink()
    (flaw,) = verify(str(trail)).flaws
    assert (flaw.what, flaw.number) == (CUT_OFF, 1)
    with pytest.raises(BrokenTrailError, match="not one entry"):
        Trail.open(str(trail), TERMS, Clock(), {})


@pytest.mark.parametrize("how", ["removed", "emptied", "shortened"])
def test_the_daemon_knows_of_an_end_that_no_signature_vouches_for(tmp_path: Path, how: str) -> None:
    directory = tmp_path / "trail"
    trail = Trail.open(str(directory), TERMS, Clock(), {})
    while len(segments(directory)) < 2:
        trail.append([note(1)])
    trail.append([note(2)])
    trail.checkpoint()
    number, digest = trail.head
    said = Writer(number=number, hash=digest)
    assert verify(str(directory), writer=said).ok
    last = segments(directory)[-1]
    for path in (last, last.with_suffix(".checkpoints")):
        if how == "removed":
            path.unlink()
        elif how == "emptied":
            path.write_bytes(b"")
        else:
            path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:-1]))
    alone = verify(str(directory))
    assert alone.ok
    assert any("is empty" in said for said in alone.remarks) is (how == "emptied")
    report = verify(str(directory), writer=said)
    (flaw,) = report.flaws
    assert (flaw.what, flaw.number) == (CUT_OFF, alone.last + 1)
    assert f"the daemon wrote entry {number}" in flaw.message
    assert report.signed_through <= alone.last
    with pytest.raises(BrokenTrailError):
        trail.append([note(3)])
    trail.close()


def test_an_end_that_was_made_anew_is_not_the_one_that_the_daemon_wrote(trail: Path) -> None:
    last = list(entries(trail))[-1]
    report = verify(str(trail), writer=Writer(number=last.number, hash="0" * 64))
    assert [(flaw.what, flaw.number) for flaw in report.flaws] == [(REPLACED, last.number)]
    assert "not the one that the daemon wrote" in report.flaws[0].message
    whole = verify(str(trail), writer=Writer(number=last.number, hash=last.hash))
    assert (whole.ok, whole.signed_through) == (True, last.number)


def test_what_the_daemon_found_out_itself_is_a_flaw_and_its_silence_is_none(trail: Path) -> None:
    (flaw,) = verify(str(trail), writer=Writer(alarm="it was replaced")).flaws
    assert "it was replaced" in flaw.message
    report = verify(str(trail), writer=Writer(silence="nobody is there"))
    assert (report.ok, report.remarks) == (True, ["nobody is there"])


def _meddle(path: Path, how: str) -> None:
    if how == "removed":
        path.unlink()
    elif how == "replaced":
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        copy.rename(path)
    elif how == "linked":
        path.rename(path.with_name("moved"))
        path.symlink_to(path.with_name("moved"))
    elif how == "emptied":
        os.truncate(path, 0)
    elif how == "longer":
        with path.open("ab") as file:
            file.write(b"x")
    else:
        path.parent.rename(path.parent.with_name("elsewhere"))


@pytest.mark.parametrize("how", ["removed", "replaced", "linked", "emptied", "longer", "moved away"])
def test_nothing_is_written_to_a_file_that_is_not_the_one_at_its_path(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    directory = tmp_path / "trail"
    trail = Trail.open(str(directory), AuditTerms(enabled=True), Clock(), {})
    trail.append([note(1)])
    (path,) = segments(directory)
    _meddle(path, how)
    number = trail.number
    for _ in range(2):  # not the second time either
        with pytest.raises(BrokenTrailError, match="while the daemon writes to it"):
            trail.append([note(2)])
    assert trail.number == number
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]
    trail.close()


@pytest.mark.parametrize("how", ["removed", "replaced", "emptied"])
def test_nobody_is_told_that_an_entry_is_on_the_disk_whose_file_is_gone(tmp_path: Path, how: str) -> None:
    """What happens between the look before a write and the write is found before anybody is answered."""
    trail = Trail.open(str(tmp_path / "trail"), AuditTerms(enabled=True), Clock(), {})
    trail.append([note(1)])
    (path,) = segments(tmp_path / "trail")
    _meddle(path, how)
    with pytest.raises(BrokenTrailError):
        trail.sync()
    with pytest.raises(BrokenTrailError):
        trail.append([note(2)])
    trail.close()


def test_no_checkpoint_is_signed_into_a_file_that_is_gone(tmp_path: Path) -> None:
    trail = Trail.open(str(tmp_path / "trail"), AuditTerms(enabled=True), Clock(), {})
    trail.append([note(1)])
    (path,) = (tmp_path / "trail").glob("*.checkpoints")
    path.unlink()
    with pytest.raises(BrokenTrailError, match="was removed"):
        trail.checkpoint()
    trail.close()


@pytest.mark.parametrize("entries_written", [False, True])
def test_a_crash_at_the_very_beginning_leaves_no_key_without_an_entry(tmp_path: Path, entries_written: bool) -> None:
    directory = tmp_path / "trail"
    directory.mkdir(mode=0o700)
    if entries_written:
        trail = Trail.open(str(directory), AuditTerms(enabled=True), Clock(), {})
        trail.close()
        for name in ("signing.key", "signing.pub"):
            (directory / name).unlink()
        for path in directory.glob("*.checkpoints"):
            path.write_bytes(b"")
    Trail.open(str(directory), AuditTerms(enabled=True), Clock(), {}).close()
    assert verify(str(directory)).ok
