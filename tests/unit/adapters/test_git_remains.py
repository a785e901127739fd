"""What is left of a worktree: known by its mark, deleted without following a link, and the mark goes last."""

import os
from pathlib import Path

import pytest

from corral.adapters.git import remains


def test_only_what_is_marked_is_a_rest(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    assert not remains.are_at(str(left))
    remains.mark(str(left))
    assert remains.are_at(str(left))
    os.symlink(left, tmp_path / "link")
    assert not remains.are_at(str(tmp_path / "link"))


def test_all_of_it_goes_and_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    left, mine = tmp_path / "left", tmp_path / "mine"
    (left / "build" / "deep").mkdir(parents=True)
    mine.mkdir()
    (mine / "work").write_text("mine\n")
    os.symlink(mine, left / "to-directory")
    os.symlink(mine / "work", left / "build" / "to-file")
    remains.mark(str(left))
    assert remains.clear(str(left)) == ""
    assert not left.exists()
    assert (mine / "work").read_text() == "mine\n"


def test_as_long_as_something_is_left_it_is_known_as_a_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "left"
    (left / "build").mkdir(parents=True)
    (left / "build" / "stays").write_text("x\n")
    (left / "goes").write_text("x\n")
    remains.mark(str(left))

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", os.path.join(path, "stays"))

    monkeypatch.setattr("shutil.rmtree", refuse)
    assert remains.clear(str(left)) == f"{left}/build/stays: Permission denied"
    assert not (left / "goes").exists()
    assert remains.are_at(str(left))


def test_what_is_gone_altogether_cannot_be_marked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        remains.mark(str(tmp_path / "gone"))
