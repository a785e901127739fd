"""A trail that is verified while its writer closes files, and drops the oldest."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.audit import verifying
from corral.adapters.audit.files import Directory
from corral.adapters.audit.trail import Trail
from corral.adapters.audit.verifying import verify
from corral.domain.audit_sequence import REMOVED
from corral.domain.audit_verify import Report, Writer
from tests.support.audit import TERMS, Clock, note, segments, ship

#: Some five files are kept.
_DROPPING = replace(TERMS, keep_size=12_000)


@pytest.fixture
def trail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trail]:
    """One that is written to and has dropped files, and that nobody looks at a second time."""
    monkeypatch.setattr(verifying, "_LOOKS", 1)
    trail = Trail.open(str(tmp_path / "trail"), _DROPPING, Clock(), {})
    _go_on(trail, tmp_path / "trail", files=10)
    yield trail
    trail.close()


def _go_on(trail: Trail, directory: Path, *, files: int) -> None:
    """Write until so many files were begun."""
    for _ in range(files):
        last = segments(directory)[-1]
        while segments(directory)[-1] == last:
            trail.append([note(trail.number)])
            if trail.unsigned >= _DROPPING.checkpoint_entries:
                trail.checkpoint()


def _verified(
    directory: Path,
    trail: Trail,
    shipped: Path,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: dict[int, Callable[[], None]],
) -> tuple[Report, int]:
    """What is found if something happens before each of some looks at the directory; and how many looks there were."""
    looks = 0

    class Watched(Directory):
        def numbers(self, kind: str = ".jsonl") -> list[int]:
            _look()
            return super().numbers(kind)

        def open(self, name: str) -> int | None:
            _look()
            return super().open(name)

    def _look() -> None:
        nonlocal looks
        looks += 1
        meanwhile.get(looks, lambda: None)()

    monkeypatch.setattr(verifying, "Directory", Watched)
    number, digest = trail.head
    return verify(str(directory), shipped=str(shipped), writer=Writer(number=number, hash=digest)), looks


@pytest.mark.parametrize("files", [1, 2, 4, 9])
def test_whatever_is_dropped_during_one_look_is_no_flaw(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    directory = tmp_path / "trail"
    at, looks = 1, 1
    while at <= looks:
        shipped = ship(directory, tmp_path / "shipped.jsonl")
        before = trail.number
        report, looks = _verified(
            directory, trail, shipped, monkeypatch, {at: lambda: _go_on(trail, directory, files=files)}
        )
        assert report.flaws == [], at
        assert max(report.dropped_through, report.last) >= before, at
        assert bool(report.entries) is not any("verify again" in said for said in report.remarks)
        at += 1
    assert at > 10


def test_what_is_dropped_again_and_again_during_one_look_is_no_flaw(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "trail"
    shipped = ship(directory, tmp_path / "shipped.jsonl")
    always = {at: lambda: _go_on(trail, directory, files=1) for at in range(1, 100)}
    report, looks = _verified(directory, trail, shipped, monkeypatch, always)
    assert report.flaws == []
    assert looks > 5


def test_a_file_that_somebody_removes_meanwhile_is_missing_all_the_same(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where files are dropped at the same time: the anchor does not tell of this one."""
    directory = tmp_path / "trail"
    shipped = ship(directory, tmp_path / "shipped.jsonl")

    def meddle() -> None:
        _go_on(trail, directory, files=1)
        segments(directory)[1].unlink()

    _, looks = _verified(directory, trail, shipped, monkeypatch, {})
    report, _ = _verified(directory, trail, shipped, monkeypatch, {looks - len(segments(directory)): meddle})
    assert REMOVED in {flaw.what for flaw in report.flaws}


def test_what_follows_what_was_dropped_meanwhile_has_to_fit_it(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An anchor with another hash than the entries have: as if everything behind it had been made anew."""
    directory = tmp_path / "trail"
    other = tmp_path / "other"
    shutil.copytree(directory, other)
    _go_on(trail, directory, files=2)
    anew = Trail.open(str(other), _DROPPING, Clock(), {})
    _go_on(anew, other, files=2)
    anew.close()
    shipped = ship(directory, tmp_path / "shipped.jsonl")

    def meddle() -> None:
        for path in segments(directory)[:3]:
            path.unlink()
            path.with_suffix(".checkpoints").unlink()
        shutil.copy(other / "anchor.json", directory / "anchor.json")

    _, looks = _verified(directory, trail, shipped, monkeypatch, {})
    report, _ = _verified(directory, trail, shipped, monkeypatch, {looks - len(segments(directory)): meddle})
    assert not report.ok
