"""Who listens, as the kernel answers and as its tables say: the same, on sockets that this very process has."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest

from corral.adapters.procfs import listening_sockets, sock_diag
from corral.adapters.procfs.listening_sockets import Port

LOOPBACK = bytes([127, 0, 0, 1])


@pytest.fixture
def own() -> Iterator[dict[int, Port]]:
    """Sockets that listen, and where; and some that do not."""
    with ExitStack() as opened:

        def bound(family: int, kind: int, address: str) -> socket.socket:
            one = opened.enter_context(socket.socket(family, kind))
            one.bind((address, 0))
            return one

        def place(protocol: str, address: bytes, one: socket.socket) -> tuple[int, Port]:
            return os.fstat(one.fileno()).st_ino, Port(protocol, address, one.getsockname()[1])

        tcp = bound(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1")
        tcp.listen()
        every = bound(socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0")
        every.listen()
        udp = bound(socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1")
        expected = [place("tcp", LOOPBACK, tcp), place("tcp", bytes(4), every), place("udp", LOOPBACK, udp)]
        if socket.has_dualstack_ipv6():
            tcp6 = bound(socket.AF_INET6, socket.SOCK_STREAM, "::1")
            tcp6.listen()
            expected.append(place("tcp", socket.inet_pton(socket.AF_INET6, "::1"), tcp6))
        bound(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1")
        opened.enter_context(socket.create_connection(tcp.getsockname()))
        yield dict(expected)


def own_inodes() -> set[int]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found.add(os.stat(f"/proc/self/fd/{descriptor}").st_ino)
        except FileNotFoundError:
            continue
    return found


@pytest.mark.parametrize("way", [listening_sockets.asked, listening_sockets.read])
def test_what_listens_is_told_and_nothing_else(way: object, own: dict[int, Port]) -> None:
    assert callable(way)
    mine = own_inodes()
    assert {inode: port for inode, port in dict(way()).items() if inode in mine} == own


def test_a_kernel_that_does_not_answer_has_tables(own: dict[int, Port], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was built without inet_diag says ENOENT."""

    def refused(*_: object) -> NoReturn:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(sock_diag, "ask", refused)
    assert own.items() <= listening_sockets.every().items()


def test_hundreds_of_them_are_all_told() -> None:
    with ExitStack() as opened:
        many = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(300)]
        assert {os.fstat(one.fileno()).st_ino for one in many} <= listening_sockets.every().keys()


@pytest.mark.parametrize(
    ("port", "name"),
    [
        (Port("tcp", bytes(4), 8080), "tcp 0.0.0.0:8080"),
        (Port("udp", bytes(16), 53), "udp [::]:53"),
    ],
)
def test_a_port_reads_as_people_write_it(port: Port, name: str) -> None:
    assert str(port) == name
