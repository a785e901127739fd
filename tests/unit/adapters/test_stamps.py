"""What stands for the contents of a file, whatever is at its path."""

import os
import socket
from contextlib import closing
from pathlib import Path

from corral.adapters.files.stamps import look, stamp


def test_equal_contents_have_equal_stamps(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("x")
    other.write_text("x")
    assert stamp(str(one)) == stamp(str(other))
    other.write_text("y")
    assert stamp(str(one)) != stamp(str(other))
    assert stamp(str(tmp_path / "gone")) == ""


def test_whatever_is_no_file_has_a_stamp_and_leaves_nothing_open(own_directory: Path) -> None:
    (own_directory / "directory").mkdir()
    os.mkfifo(own_directory / "pipe")
    (own_directory / "link").symlink_to("loop")
    (own_directory / "loop").symlink_to("link")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(own_directory / "socket"))
        before = os.listdir("/proc/self/fd")
        for name in ("directory", "pipe", "link", "socket"):
            assert stamp(str(own_directory / name)) != "", name
        seen = look(str(own_directory), ["directory", "pipe", "no/such", "directory/x"], [str(own_directory)])
        assert [one.below for one in seen] == ["directory", "pipe", "no/such", "directory/x"]
        assert os.listdir("/proc/self/fd") == before
