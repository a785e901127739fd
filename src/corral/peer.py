"""Who is at the other end of a unix socket, as the kernel says: nobody can claim to be another."""

from __future__ import annotations

import functools
import pwd
import socket
import struct

from corral.domain.errors import NotFoundError

_CREDENTIALS = struct.Struct("3i")


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The pid and the uid of the process that connected, or that listened when we did."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(raw)
    return pid, uid


def user_id(name: str) -> int:
    """The number of an OS user."""
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise NotFoundError(f"there is no user {name} on this host", "sudo corral host setup makes it") from None


def user_name(uid: int) -> str:
    """The name of an OS user, or its number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def uid_of(name: str) -> int:
    """The number of an OS user, remembered while this process lives; -1, which nobody has, if there is none."""
    try:
        return _remembered(name)
    except KeyError:
        return -1


@functools.lru_cache(maxsize=1024)
def _remembered(name: str) -> int:
    return pwd.getpwnam(name).pw_uid
