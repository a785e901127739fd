"""Bringing hidden tmux servers back, without taking the path from whoever has it now.

A server that gets SIGUSR1 unlinks what is at its path and binds a new socket there; its panes notice nothing. Whoever
listens at the path by then would be hidden in turn, so its socket is given a second name first: a hard link leads to
the same socket, and there is no moment in which it cannot be reached. Nothing is unlinked here but a name that was
made here.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import stat
import time
from collections.abc import Iterator

from corral.adapters.procfs import processes as proc
from corral.adapters.tmux import identity
from corral.domain.diagnosis_cures import BringBack, Healed
from corral.domain.errors import CorralError, UnavailableError

#: A server that runs makes its socket in a millisecond or two.
ANSWER_SECONDS = 2.0
_NAMES = 100


def bring_back(order: BringBack) -> Healed:
    """Have every server of the order reachable: its owner at the path, each other one under a name beside it."""
    directory = os.path.dirname(order.path)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)  # a cleaner may have taken it along with the socket
        with _alone(directory):
            return _bring_back(order)
    except CorralError as error:
        return Healed(False, f"it was not brought back: {error.message}")
    except OSError as error:
        return Healed(False, f"it was not brought back: {error.filename or order.path}: {error.strerror}")


def _bring_back(order: BringBack) -> Healed:
    path = order.path
    asides: dict[int, str] = {}
    for pid, start in order.hidden:
        _set_aside(path, asides, but=pid)
        _make_socket_anew(path, pid, start)
        asides.pop(pid, None)
    holder = _listener_at(path)
    if holder != order.owner and order.owner in asides:
        # The one that was there has the agents: it gets its path back, the other keeps the name beside it.
        _set_aside(path, asides, but=order.owner)
        os.rename(asides.pop(order.owner), path)
        holder = _listener_at(path)
    if holder is None:
        raise UnavailableError(f"nobody answers at {path}")
    unreachable = [pid for pid, aside in asides.items() if _listener_at(aside) != pid]
    if unreachable:
        raise UnavailableError(f"pid {unreachable[0]} cannot be reached at {asides[unreachable[0]]}")
    others = "".join(f", pid {pid} at {aside}" for pid, aside in asides.items())
    return Healed(True, f"now pid {holder} answers at {path} again{others}")


def _set_aside(path: str, asides: dict[int, str], *, but: int) -> None:
    """Give whoever listens at `path` a second name, unless it is `but` itself."""
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(os.lstat(path).st_mode):
        raise UnavailableError(f"{path} is no socket")
    holder = _listener_at(path)
    if holder is None or holder == but or holder in asides:
        return
    for number in range(_NAMES):
        # Short, and no name of a team's socket: those have no dot before `.sock`.
        aside = os.path.join(os.path.dirname(path), f"aside.{holder}" + (f".{number}" if number else ""))
        try:
            os.link(path, aside)
        except FileExistsError:
            if _listener_at(aside) == holder:
                asides[holder] = aside
                return
            continue
        if _listener_at(aside) == holder:
            asides[holder] = aside
            return
        os.unlink(aside)  # our own name for what came to the path in between
        raise UnavailableError(f"somebody else is changing {path}")
    raise UnavailableError(f"there is no free name beside {path}")


def _make_socket_anew(path: str, pid: int, start: int) -> None:
    if _listener_at(path) == pid:
        return
    process = proc.read(pid)
    if process is None or process.start != start:
        raise UnavailableError(f"pid {pid} is gone")
    before = _file_at(path)
    if not proc.send_signal(process, signal.SIGUSR1):
        raise UnavailableError(f"pid {pid} cannot be signalled")
    until = time.monotonic() + ANSWER_SECONDS
    # Asked only once there is another file: a connection is a client to tmux, and not to be made in passing.
    while _file_at(path) in (None, before) or _listener_at(path) != pid:
        if time.monotonic() > until:
            raise UnavailableError(f"pid {pid} did not make its socket within {ANSWER_SECONDS:g} s; is it stopped?")
        time.sleep(0.002)


def _file_at(path: str) -> tuple[int, int, int] | None:
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    return (info.st_dev, info.st_ino, info.st_ctime_ns)  # an inode may be used again at once


def _listener_at(path: str) -> int | None:
    """The pid that listens there; None if nobody does. UnavailableError if that cannot be told."""
    presence, process = identity.server_behind(path)
    if presence == "absent":
        return None
    if presence == "unknown" or process is None:
        raise UnavailableError(f"whoever listens at {path} does not take connections")
    return process.pid


@contextlib.contextmanager
def _alone(directory: str) -> Iterator[None]:
    """One doctor at a time. The lock is on the directory itself, so that nothing is made for it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnavailableError("another doctor is at work") from None
        yield
    finally:
        os.close(descriptor)
