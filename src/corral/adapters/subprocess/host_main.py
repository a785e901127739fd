"""The host of a team's processes: `host.py SOCKET DIRECTORY READY`.

It is to plain processes what the tmux server is to terminals: their parent, the reader of their output, and the one who
knows how they ended. It decides nothing, and ends when it is told to, or on SIGTERM once nothing runs. There is one for
each team: a lock beside the socket sees to that. SIGUSR1 has it make both anew. READY is a descriptor that is told
`ready`, or why not.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import time
from collections.abc import Sequence

from corral.adapters.subprocess import records
from corral.adapters.subprocess.host_birth import Births
from corral.adapters.subprocess.host_children import Children
from corral.adapters.subprocess.host_desk import Desk
from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_memory import Memory
from corral.adapters.subprocess.host_protocol import HOST_NAME
from corral.listening import listen

_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36
#: How long one that is just ending may take, or a child of one that was killed, to let go of the lock; and how often to
#: look meanwhile whether it is in good hands.
_LOCK_SECONDS, _LOOK_SECONDS = 5.0, 0.02


def main(arguments: Sequence[str]) -> int:
    """Run until told to end."""
    path, directory, ready = arguments[0], arguments[1], int(arguments[2])
    os.set_inheritable(ready, False)
    try:
        lock = _lock(path)
        listening = listen(path)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        known = records.load(directory)
        records.remove_strays(directory, known)
    except OSError as error:
        os.write(ready, f"{error.filename or path}: {error.strerror or error}".encode())
        return 1
    libc = ctypes.CDLL(None)
    # What loses its parents is handed to us, and not to init: it stays known.
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files[1], open_files[1]))

    loop = Loop()
    desk = Desk(loop)
    memory = Memory(directory, loop, desk.tell)
    children = Children(loop, Births(open_files), memory)
    leaving = False

    def leave() -> None:
        nonlocal leaving
        leaving = True

    def after_turn() -> None:
        desk.flush()
        if leaving and children.idle:
            loop.done = True

    def end() -> None:
        memory.forget_all()
        loop.done = True

    def listen_again() -> None:
        """Somebody cannot find us, perhaps because the runtime directory was cleared."""
        nonlocal lock
        if _somebody_listens(path):
            return
        if not _is_at(lock, path + ".lock"):
            again = _lock(path)
            os.close(lock)
            lock = again
        desk.listen_on(listen(path))

    loop.after_turn = after_turn
    loop.on_signal({signal.SIGCHLD: children.reap, signal.SIGTERM: leave, signal.SIGUSR1: listen_again})
    # Not before it can be called: whoever looks for a host knows it by this.
    libc.prctl(_PR_SET_NAME, HOST_NAME, 0, 0, 0)
    children.find_again(list(known.values()))
    desk.open(children, memory, end)
    desk.listen_on(listening)
    with contextlib.suppress(BrokenPipeError):  # whoever started us did not wait; the next one finds us
        os.write(ready, b"ready")
    os.close(ready)
    loop.run()
    memory.close()
    loop.close()
    # The lock goes last: whoever comes next finds nothing of ours.
    for file in (path, path + ".lock"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
    os.close(lock)
    return 0


def _lock(path: str) -> int:
    """Be the only host of the team. Raises `FileExistsError` if another is, and takes connections."""
    began = time.monotonic()

    def look(*_: object) -> None:
        if time.monotonic() > began + _LOCK_SECONDS or _somebody_listens(path):
            raise FileExistsError(errno.EEXIST, "another host of this team is running", path)

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)
    try:
        while True:
            descriptor = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, path + ".lock"):
                return descriptor
            os.close(descriptor)  # the one before us removed it when it ended
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _is_at(descriptor: int, path: str) -> bool:
    """True if it is this file that is at the path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _somebody_listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == 0
