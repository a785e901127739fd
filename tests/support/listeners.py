"""A program that listens on loopback ports and hands the sockets to the test: they then outlive the program."""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAM = """
import socket, sys, time
tcp = socket.create_server(("127.0.0.1", 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
with socket.socket(socket.AF_UNIX) as hand:
    hand.connect(sys.argv[1])
    socket.send_fds(hand, [b"2"], [tcp.fileno(), udp.fileno()])
time.sleep(86400)
"""


class Hand:
    """Takes the two sockets of a program, as any process may that is not the program's."""

    def __init__(self, path: Path) -> None:
        #: The program: it listens on a TCP and on a UDP port, hands both over, and goes on listening.
        self.command = [sys.executable, "-c", _PROGRAM, str(path)]
        self._listening = socket.create_server(str(path), family=socket.AF_UNIX)
        self._listening.settimeout(20)
        self._sockets: list[socket.socket] = []

    def take(self) -> list[str]:
        """Wait for the sockets; the ports: `tcp 127.0.0.1:8080`."""
        connection, _ = self._listening.accept()
        with connection:
            _, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
        self._sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        names = ("{}:{}".format(*one.getsockname()) for one in self._sockets)
        return [f"{protocol} {name}" for protocol, name in zip(("tcp", "udp"), names, strict=True)]

    def let_go(self) -> None:
        """Close what was taken."""
        for one in self._sockets:
            one.close()
        self._sockets = []

    def close(self) -> None:
        """Close everything."""
        self.let_go()
        self._listening.close()


@contextmanager
def a_hand(path: Path) -> Iterator[Hand]:
    """A hand that waits at `path`."""
    hand = Hand(path)
    try:
        yield hand
    finally:
        hand.close()
