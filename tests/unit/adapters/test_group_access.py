"""Default ACLs: what is made in a directory is the group's as far as was said, whatever the umask is."""

import os
import stat
from pathlib import Path

import pytest

from corral.adapters.files.group_access import let_group
from corral.domain.acl import ACCESS, DEFAULT, acl
from corral.domain.errors import CorralError


@pytest.mark.parametrize(("access", "file", "directory"), [("read", 0o640, 0o750), ("write", 0o660, 0o770)])
def test_a_group_gets_at_what_is_made(tmp_path: Path, access: str, file: int, directory: int) -> None:
    let_group(str(tmp_path), access)
    before = os.umask(0o077)
    try:
        (tmp_path / "file").write_text("x")
        (tmp_path / "d").mkdir()
        (tmp_path / "d" / "below").write_text("x")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "d/below", "d")]
    assert modes == [file, file, directory]
    let_group(str(tmp_path), "none")
    assert DEFAULT not in os.listxattr(tmp_path)
    let_group(str(tmp_path), "none")


def test_a_file_system_without_them_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", unsupported)
    with pytest.raises(CorralError, match="its file system has no ACLs"):
        let_group(str(tmp_path), "read")


def test_more_groups_come_with_a_mask(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    os.setxattr(path, ACCESS, acl(6, 4, groups=((4000, 6),)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o660, "the mask shows as what the group may do"
    assert os.getxattr(path, ACCESS) == acl(6, 4, groups=((4000, 6),))
