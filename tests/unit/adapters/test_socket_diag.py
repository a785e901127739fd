"""What the kernel says of listening unix sockets, and of the files they were bound to."""

import os
import socket
from contextlib import closing
from pathlib import Path

from corral.adapters.doctor.socket_diag import Listener, identity, listeners


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
