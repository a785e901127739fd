"""The TCP and UDP sockets that somebody listens with, of every user, in this network namespace.

The kernel is asked directly; where it was built without that (`inet_diag`), or does not let us, its tables below
`/proc/net` say the same and take some milliseconds.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from corral.adapters.procfs import sock_diag

_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_PROTOCOLS = (("tcp", socket.IPPROTO_TCP, sock_diag.LISTENING), ("udp", socket.IPPROTO_UDP, sock_diag.UNCONNECTED))

_REQUEST = struct.Struct("=BBBBI48x")  # family, protocol, extensions, pad, states, and of every socket
_PORT_AND_ADDRESS = struct.Struct("!4xH2x16s")
_INODE = struct.Struct("=68xI")

#: The tables, and how they write those states.
_TABLES = (("tcp", b"0A"), ("tcp6", b"0A"), ("udp", b"07"), ("udp6", b"07"))
_ADDRESS_COLUMN, _STATE_COLUMN, _INODE_COLUMN = 1, 3, 9


@dataclass(frozen=True, slots=True)
class Port:
    """A place to listen at."""

    protocol: str
    #: 4 bytes, or 16 of IPv6.
    address: bytes
    number: int

    def __str__(self) -> str:
        """`tcp 127.0.0.1:8080`."""
        family, form = (socket.AF_INET, "{}") if len(self.address) == 4 else (socket.AF_INET6, "[{}]")
        return f"{self.protocol} {form.format(socket.inet_ntop(family, self.address))}:{self.number}"


def every() -> dict[int, Port]:
    """Inode to place of every socket that is listened with."""
    try:
        return dict(asked())
    except OSError:
        return dict(read())


def asked() -> Iterator[tuple[int, Port]]:
    """What the kernel answers. OSError if it does not."""
    with sock_diag.opened() as kernel:
        for family in _FAMILIES:
            size = 4 if family == socket.AF_INET else 16
            for name, protocol, states in _PROTOCOLS:
                for answer in sock_diag.ask(kernel, _REQUEST.pack(family, protocol, 0, 0, states)):
                    number, address = _PORT_AND_ADDRESS.unpack_from(answer)
                    yield _INODE.unpack_from(answer)[0], Port(name, address[:size], number)


def read() -> Iterator[tuple[int, Port]]:
    """What the tables say."""
    for table, state in _TABLES:
        # Without IPv6 its tables are not there.
        with contextlib.suppress(FileNotFoundError), open(f"/proc/net/{table}", "rb") as file:
            for line in file:
                columns = line.split(maxsplit=_INODE_COLUMN + 1)
                if columns[_STATE_COLUMN] == state:
                    address, _, number = columns[_ADDRESS_COLUMN].partition(b":")
                    place = Port(table.removesuffix("6"), _address(address), int(number, 16))
                    yield int(columns[_INODE_COLUMN]), place


def _address(written: bytes) -> bytes:
    """Each word of an address is written as the number that it is on this machine."""
    words = (int(written[at : at + 8], 16) for at in range(0, len(written), 8))
    return b"".join(struct.pack("=I", word) for word in words)
