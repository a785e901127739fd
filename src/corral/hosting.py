"""What the daemon and the keeper do alike as processes: be the only one, listen, say when they are ready."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator

from corral.domain.errors import RefusedError

log = logging.getLogger("corral")

#: A runtime directory may be cleared under us (a last logout, a cleaner of old files): one look at it now and then.
_SOCKET_CHECK_SECONDS = 10.0
#: How many objects more than were freed, before cycles among them are looked for: as many as a large request makes.
_GARBAGE = 20_000
#: It says so by errors, and gives them back to what it starts.
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


@contextlib.contextmanager
def only_one(lock_path: str, what: str, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """Hold the lock that makes this process the only one of its kind; RefusedError if another has it."""
    descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _locked(descriptor, wait_seconds):
            raise RefusedError(f"another {what} of this instance is running", f"{lock_path} names its pid")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int, wait_seconds: float) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if wait_seconds <= 0:
            return False
    else:
        return True

    # The one before us is about to go. flock knows no time limit of its own, so an alarm ends the wait.
    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, wait_seconds)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except TimeoutError:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return True


def identity(path: str) -> tuple[int, int] | None:
    """Which file is at `path` now; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


async def when_gone(path: str, ours: tuple[int, int] | None, act: Callable[[], None]) -> None:
    """Act once our socket is not at its path any more: nobody can reach this process, and a new one is needed."""
    while identity(path) == ours:  # noqa: ASYNC110 - inotify would tell, and needs a library for one path
        await asyncio.sleep(_SOCKET_CHECK_SECONDS)
    log.warning("%s is gone; this process ends, and the next one takes over", path)
    act()


def note_runtime(mark: str, runtime: str) -> None:
    """Write down where this process is reached, for whoever looks elsewhere. Without it they are told less."""
    try:
        descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, os.fsencode(runtime))
        finally:
            os.close(descriptor)
    except OSError as error:
        log.warning("cannot write %s: %s", mark, error.strerror)


def unlink_own(path: str, ours: tuple[int, int] | None) -> None:
    """Remove our socket, and not the one of somebody who came after us."""
    if ours is not None and identity(path) == ours:
        os.unlink(path)


def say_ready(ready_fd: int | None) -> None:
    """Tell whoever started this process that it takes requests."""
    # What is loaded by now stays: to look through it for garbage now and then would hold up whoever waits for us.
    gc.freeze()
    # Most of what a request makes goes without a search; one is begun for what many leave, and not amid a large one.
    gc.set_threshold(_GARBAGE)
    gc.enable()
    _tell_service_manager()
    if ready_fd is None:
        return
    try:
        os.write(ready_fd, b"1")
    except BrokenPipeError:
        log.warning("whoever started this process did not wait for it; it goes on")
    os.close(ready_fd)


def _tell_service_manager() -> None:
    """Tell systemd that a service of `Type=notify` is ready. What we start later is not the service: it is not told."""
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as manager:
        try:
            manager.sendto(b"READY=1", "\0" + address[1:] if address.startswith("@") else address)
        except OSError as error:
            log.warning("the service manager could not be told that this process is ready: %s", error)


def on_signals(loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    """End in order on SIGTERM and SIGINT; a terminal that goes away is no reason to end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def begin_process(name: str) -> None:
    """Log with times to standard error, allow as many open files as the system lets us, and have the signals that
    whoever started this process ignores: an ignored one is inherited, by every agent in the end.
    """
    # Until everything is loaded, there is no garbage worth a search.
    gc.disable()
    for number in signal.valid_signals():
        if number not in _IGNORED_BY_PYTHON and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO,
        format=f"%(asctime)sZ {name}[{os.getpid()}] %(levelname)s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
