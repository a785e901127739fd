"""Files that are meddled with under the daemon that writes them, and what it knows of their end."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.audit.trail import Trail
from corral.adapters.audit.verifying import verify
from corral.domain.audit_sequence import CUT_OFF, REMOVED, REPLACED
from corral.domain.audit_terms import AuditTerms
from corral.domain.audit_verify import Writer
from corral.domain.errors import BrokenTrailError, RefusedError, WrongUseError
from corral.wiring_audit import public_key
from tests.support.audit import TERMS, Clock, checkpoints, entries, note, remarked, segments, write


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


def test_whole_files_that_are_taken_off_behind_an_end_in_order_are_remarked_on(trail: Path, tmp_path: Path) -> None:
    """Nothing that is left tells of them."""
    ends, copy = list(entries(trail))[-1].number, tmp_path / "copy"
    shutil.copytree(trail, copy)  # as it is left, then
    write(trail, 20)
    report = verify(str(copy))
    assert report.ok
    assert [said for said in report.remarks if said.startswith(f"it ends with entry {ends}, ")]
    kept = tmp_path / "kept"
    kept.mkdir()
    for path in trail.glob("*.checkpoints"):
        shutil.copy(path, kept)
    assert not verify(str(copy), shipped=str(kept)).ok
    assert remarked(verify(str(trail), shipped=str(kept))) == verify(str(trail), shipped=str(kept)).remarks


def test_a_private_key_alone_is_a_key_without_any_entry(trail: Path) -> None:
    for path in trail.iterdir():
        if path.name != "signing.key":
            path.unlink()
    (flaw,) = verify(str(trail)).flaws
    assert (flaw.what, flaw.number) == (CUT_OFF, 1)


@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_file_of_checkpoints_that_is_gone_is_found(trail: Path, at: int) -> None:
    path = checkpoints(trail)[at]
    path.unlink()
    flaws = verify(str(trail)).flaws
    assert (REMOVED, path.name, int(path.stem)) in {(flaw.what, flaw.file, flaw.number) for flaw in flaws}


def test_nothing_is_written_behind_entries_whose_file_of_checkpoints_is_gone(trail: Path) -> None:
    path = checkpoints(trail)[-1]
    path.unlink()
    with pytest.raises(RefusedError, match=f"{path.name} was removed"):
        Trail.open(str(trail), TERMS, Clock(), {})
    assert not path.exists()


def test_a_writer_that_was_killed_before_it_made_that_file_is_remarked_on(trail: Path) -> None:
    last = list(entries(trail))[-1].number
    (trail / f"{last + 1:020d}.jsonl").touch(0o600)
    report = verify(str(trail))
    assert report.ok
    assert any("is empty: a crash has left it so" in said for said in report.remarks)
    write(trail, 1)
    assert remarked(verify(str(trail))) == []


def test_files_of_entries_that_are_half_dropped_miss_nothing(trail: Path) -> None:
    """As a crash leaves it: of the oldest, the file of checkpoints went first."""
    before = {path: path.read_bytes() for path in (*segments(trail), *checkpoints(trail))}
    oldest = checkpoints(trail)[0]
    write(trail, 1, terms=replace(TERMS, keep_size=1))
    for path, data in before.items():
        if path != oldest and not path.exists():
            path.write_bytes(data)
    assert segments(trail)[0].stem == oldest.stem
    assert verify(str(trail)).ok


def test_a_writer_that_did_not_end_in_order_is_remarked_on_once_it_is_gone(trail: Path, tmp_path: Path) -> None:
    def is_remarked_on(path: Path) -> bool:
        return any("did not end in order" in said for said in verify(str(path)).remarks)

    assert not is_remarked_on(trail)
    writing = Trail.open(str(trail), TERMS, Clock(), {})
    assert not is_remarked_on(trail)
    shutil.copytree(trail, tmp_path / "copy")
    writing.close()
    assert not is_remarked_on(trail)
    assert is_remarked_on(tmp_path / "copy")


@pytest.mark.parametrize("junk", [b"", b"\xff\xfe junk", b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"])
def test_junk_in_the_place_of_the_public_key_has_a_remedy_that_works(trail: Path, tmp_path: Path, junk: bytes) -> None:
    kept = tmp_path / "kept.pub"
    shutil.copy(trail / "signing.pub", kept)
    (trail / "signing.pub").write_bytes(junk)
    for look in (lambda: verify(str(trail)), lambda: public_key(str(trail))):
        with pytest.raises(WrongUseError, match=r"signing\.pub is no") as wrong:
            look()
        assert "with --key; or start the daemon again" in wrong.value.remedy
    assert verify(str(trail), keys=[str(kept)]).ok
    write(trail, 1)
    assert verify(str(trail)).ok
    assert public_key(str(trail)) == kept.read_bytes()


def test_a_public_key_that_is_gone_is_told_of_beside_what_could_not_be_checked(trail: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.pub"
    (trail / "signing.pub").rename(kept)
    report = verify(str(trail))
    assert not report.ok
    assert any("signing.pub is gone" in said and "--key" in said for said in report.remarks)
    assert verify(str(trail), keys=[str(kept)]).ok
    write(trail, 1)
    assert remarked(verify(str(trail))) == []


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
    assert (report.ok, remarked(report)) == (True, ["nobody is there"])


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
        with pytest.raises(BrokenTrailError, match="while the daemon writes to it") as broken:
            trail.append([note(2)])
        assert f"mv {directory} {directory}.kept. A new trail begins" in broken.value.remedy, "and not before that"
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
