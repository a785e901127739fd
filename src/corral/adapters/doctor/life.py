"""Do the daemon and the keeper live? Both are asked for a sign of life at once, and neither is waited for long."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from dataclasses import dataclass

from corral.adapters.procfs import processes as proc
from corral.domain.diagnosis_facts import Life
from corral.peer import peer_of
from corral.places import Places

#: How long a sign of life may take; for both together.
SECONDS = 2.0
_HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: corral\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class _Asked:
    """Somebody who is there, and the connection on which a sign of life would come; None if there is none to be had."""

    of: str
    pid: int
    connection: socket.socket | None
    #: Somebody listens at its socket.
    listens: bool


def look(places: Places) -> tuple[Life, ...]:
    """The daemon and the keeper, as far as their sockets or their locks show that they should be there."""
    return look_at(
        ("daemon", places.daemon_socket, places.daemon_lock), ("keeper", places.keeper_socket, places.keeper_lock)
    )


def look_at(*those: tuple[str, str, str]) -> tuple[Life, ...]:
    """These: each by what it is, its socket and its lock."""
    with contextlib.ExitStack() as stack:
        asked = [one for of, path, lock in those if (one := _ask(stack, of, path, lock)) is not None]
        # One that is stopped cannot answer: nobody has to wait for that.
        stopped = {one.of for one in asked if _is_stopped(one.pid)}
        waiting = [one.connection for one in asked if one.connection is not None and one.of not in stopped]
        answered = _answered(waiting)
        return tuple(
            Life(
                of=one.of,
                pid=one.pid,
                stopped=one.of in stopped,
                answers=one.connection in answered if one.listens else None,
            )
            for one in asked
        )


def _ask(stack: contextlib.ExitStack, of: str, path: str, lock: str) -> _Asked | None:
    connection = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)))
    connection.setblocking(False)
    holder = _holder(lock)
    try:
        connection.connect(path)
    except BlockingIOError:
        # Its queue is full: it takes no connections.
        return _Asked(of, holder, None, listens=True) if holder is not None else None
    except OSError:
        # It is just coming or going, or its socket was removed: that is told of as a socket.
        return _Asked(of, holder, None, listens=False) if holder is not None else None
    pid, _ = peer_of(connection)
    with contextlib.suppress(OSError):
        connection.send(_HEALTH if of == "daemon" else _hello())
    return _Asked(of, pid, connection, listens=True)


def _hello() -> bytes:
    from corral.ports import wire

    return wire.encode(wire.Call(number=1, verb="hello", arguments=wire.pack({})))


def _answered(connections: list[socket.socket]) -> set[socket.socket]:
    """Those that were heard of: an answer, whatever it says, or that the other side ended."""
    deadline = time.monotonic() + SECONDS
    heard: set[socket.socket] = set()
    while len(heard) < len(connections) and (left := deadline - time.monotonic()) > 0:
        heard.update(select.select([one for one in connections if one not in heard], [], [], left)[0])
    return heard


def _holder(lock: str) -> int | None:
    """The process that a lock names, if it has the file open. The lock is not touched: somebody may want it now."""
    try:
        with open(lock, encoding="ascii") as file:
            pid = int(file.read(20))
        info = os.stat(lock)
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(f"/proc/{pid}/fd/{entry}"), info):
                    return pid
    except (OSError, ValueError):
        return None
    return None


def _is_stopped(pid: int) -> bool:
    process = proc.read(pid)
    return process is not None and process.state in "Tt"
