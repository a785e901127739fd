"""Listening unix sockets as the kernel lists them, with the file that each was bound to.

Not `/proc/net/unix`: it writes names as they are, so anybody's abstract socket with a newline in its name adds lines of
his choice to it. Here a name comes with its length. And the kernel tells whether the file at a path is still the one
that the socket was bound to: it keeps inode and device of the file, also after it was unlinked.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from dataclasses import dataclass

from corral.adapters.procfs import sock_diag

_SHOW_NAME_FILE_AND_USER = 0x1 | 0x2 | 0x40
_NAME, _FILE, _USER = 0, 1, 7

_REQUEST = struct.Struct("=BBHIIIII")  # family, protocol, pad, states, inode, show, cookie
_MESSAGE = struct.Struct("=BBBBIII")  # family, type, state, pad, inode, cookie
_ATTRIBUTE = struct.Struct("=HH")
_FILE_OF = struct.Struct("=II")  # inode, device


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that listens, and the path that it was bound to."""

    inode: int
    path: str
    #: Device and inode of the file it was bound to, the inode cut to 32 bits; None if the kernel does not tell.
    file: tuple[int, int] | None
    #: Who made it; None if the kernel does not tell (before Linux 5.3).
    user: int | None = None


def identity(info: os.stat_result) -> tuple[int, int]:
    """A file as a listener names it."""
    return (info.st_dev, info.st_ino & 0xFFFFFFFF)


def listeners() -> list[Listener]:
    """The listening unix sockets of this network namespace that have a path. OSError if the kernel does not tell."""
    show = _SHOW_NAME_FILE_AND_USER
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, sock_diag.LISTENING, 0, show, 0xFFFFFFFF, 0xFFFFFFFF)
    with sock_diag.opened() as kernel:
        return [found for found in map(_listener, sock_diag.ask(kernel, request)) if found is not None]


def own_listeners(path: str) -> dict[int, str]:
    """Inode to path of this user's listening sockets that were bound at `path`, also after the file was unlinked.

    The path is the one that was said when it was bound. In another mount namespace everybody can bind to ours, so what
    is certainly another user's does not count. OSError if the kernel does not tell.
    """
    mine = (None, os.getuid())
    return {found.inode: found.path for found in listeners() if found.path == path and found.user in mine}


def _listener(body: bytes) -> Listener | None:
    inode = _MESSAGE.unpack_from(body)[4]
    path, file, user = "", None, None
    at = _MESSAGE.size
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        value = body[at + _ATTRIBUTE.size : at + length]
        at += sock_diag.aligned(max(length, _ATTRIBUTE.size))
        if kind == _NAME:
            path = os.fsdecode(value.rstrip(b"\0"))
        elif kind == _FILE and len(value) >= _FILE_OF.size:
            number, device = _FILE_OF.unpack_from(value)
            file = (os.makedev(device >> 20, device & 0xFFFFF), number)
        elif kind == _USER:
            user = int.from_bytes(value[:4], sys.byteorder)
    return Listener(inode, path, file, user) if path.startswith("/") else None
