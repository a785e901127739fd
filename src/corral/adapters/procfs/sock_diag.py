"""Asking the kernel for its sockets (`NETLINK_SOCK_DIAG`): one request, and an answer for each socket that fits it.

Quicker than the tables below `/proc/net`, for which the kernel goes through every bucket that could hold a socket, and
without their text, into which names of others are written.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterator

#: TCP_LISTEN, and for UDP a socket that is not connected (TCP_CLOSE), as bits of the states that are asked for.
LISTENING, UNCONNECTED = 1 << 10, 1 << 7

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x1 | 0x300
_ERROR, _DONE = 2, 3
_HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, pid
_SECONDS = 2.0


@contextlib.contextmanager
def opened() -> Iterator[socket.socket]:
    """A socket to ask with, for one question after the other."""
    kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
    with contextlib.closing(socket.socket(socket.AF_NETLINK, kind, _NETLINK_SOCK_DIAG)) as kernel:
        kernel.settimeout(_SECONDS)
        yield kernel


def ask(kernel: socket.socket, request: bytes) -> Iterator[bytes]:
    """The answers to a request, one for a socket. OSError if the kernel does not tell."""
    kernel.send(_HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
    while True:
        data = kernel.recv(1 << 18)
        while len(data) >= _HEADER.size:
            length, kind, _, _, _ = _HEADER.unpack_from(data)
            body, data = data[_HEADER.size : length], data[aligned(length) :]
            if kind in (_DONE, _ERROR):
                code = -int.from_bytes(body[:4], sys.byteorder, signed=True)
                if code:
                    raise OSError(code, os.strerror(code))
                return
            yield body


def aligned(length: int) -> int:
    """Where the next part begins behind one of this length."""
    return (length + 3) & ~3
