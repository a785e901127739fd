"""What the kernel says of listening unix sockets, and of the files they were bound to."""

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from corral.adapters.procfs.unix_listeners import Listener, identity, listeners, own_listeners


def listener(path: Path) -> Listener:
    (found,) = [one for one in listeners() if one.path == str(path)]
    return found


def bound(path: Path) -> socket.socket:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    one.bind(str(path))
    one.listen()
    return one


def test_a_listener_is_told_with_the_file_it_was_bound_to(own_directory: Path) -> None:
    path = own_directory / "s"
    with closing(bound(path)) as one:
        found = listener(path)
        assert found.file == identity(os.stat(path))
        assert found.inode == os.fstat(one.fileno()).st_ino


def test_the_file_stays_known_after_it_was_unlinked_or_replaced(own_directory: Path) -> None:
    path = own_directory / "s"
    with closing(bound(path)):
        file = identity(os.stat(path))
        os.rename(path, own_directory / "kept")
        assert listener(path).file == file
        path.touch()
        assert listener(path).file == file != identity(os.stat(path))


def test_one_that_does_not_listen_and_one_without_a_path_are_left_out(own_directory: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as silent, closing(socket.socket(socket.AF_UNIX)) as abstract:
        silent.bind(str(own_directory / "silent"))
        abstract.bind(f"\0{own_directory}")
        abstract.listen()
        assert not [one for one in listeners() if str(own_directory) in one.path]


def test_hundreds_of_them_are_all_told(own_directory: Path) -> None:
    many = [bound(own_directory / f"socket-{number}") for number in range(300)]
    try:
        found = {one.path for one in listeners()}
        assert {str(own_directory / f"socket-{number}") for number in range(300)} <= found
    finally:
        for one in many:
            one.close()


class TestWhoListensAtAPath:
    """What the census counts. Names of sockets are bytes of anybody's choice."""

    def test_one_that_listens_is_found_also_after_its_file_is_gone(self, own_directory: Path) -> None:
        path = own_directory / "s"
        with closing(bound(path)) as one:
            inode = os.fstat(one.fileno()).st_ino
            assert own_listeners(str(path)) == {inode: str(path)}
            path.unlink()
            assert own_listeners(str(path)) == {inode: str(path)}
        assert own_listeners(str(path)) == {}

    @pytest.mark.parametrize(
        "name",
        [
            b"\0%s\na b c qux e f g x",
            b"\0x\n0000000000000000: 00000002 00000000 00010000 0001 01 4711 %s",
            b"\0%s",
            b"%s\n",
            b"%s\n0000000000000000: 00000002 00000000 00010000 0001 01 4711 %s",
        ],
    )
    def test_no_other_name_is_taken_for_it_nor_keeps_it_from_being_found(
        self, name: bytes, own_directory: Path
    ) -> None:
        path = os.path.join(own_directory, "s")
        with closing(socket.socket(socket.AF_UNIX)) as odd:
            own = os.fsencode(path)
            # A forged line in the name of a file would need directories of such names.
            forged = name.replace(b"%s", own, 1).replace(b"%s", b"s")
            odd.bind(forged)
            odd.listen()
            assert own_listeners(path) == {}
            with closing(bound(Path(path))):
                assert list(own_listeners(path).values()) == [path]

    def test_one_that_only_is_bound_there_does_not_count(self, own_directory: Path) -> None:
        with closing(socket.socket(socket.AF_UNIX)) as silent:
            silent.bind(str(own_directory / "s"))
            assert own_listeners(str(own_directory / "s")) == {}

    @pytest.mark.skipif(os.getuid() != 0, reason="makes a socket as another user: needs root")
    def test_one_of_another_user_does_not_count(self, own_directory: Path) -> None:
        """In a mount namespace of his own he can bind to any path, ours too."""
        path = own_directory / "s"
        os.seteuid(65534)
        try:
            theirs = socket.socket(socket.AF_UNIX)
        finally:
            os.seteuid(0)
        with closing(theirs):
            theirs.bind(str(path))
            theirs.listen()
            assert listener(path).user == 65534
            assert own_listeners(str(path)) == {}
