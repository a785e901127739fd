"""Starting the daemon: exactly one, however many commands want one at once."""

import fcntl
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from corral.client.absence import how_to_start_again, reached_elsewhere
from corral.client.wire import is_remote, somebody_listens
from corral.domain.errors import CorralError, UnavailableError
from corral.places import Places

READY_SECONDS = 20.0
_LAST_LINES = 8

#: What describes the caller's own agent or terminal is not the daemon's.
_NOT_INHERITED = (
    "CORRAL_AGENT", "CORRAL_TEAM", "CORRAL_RUN", "CORRAL_INSTANCE", "CORRAL_CREDENTIAL_FILE", "TMUX", "TMUX_PANE",
)  # fmt: skip


def ensure_daemon(places: Places) -> bool:
    """Have a daemon that takes requests; True if it was started here, False if it was there already.

    `UnavailableError` if it ends or is not ready in time, with its last words.
    """
    if is_remote():
        return False  # that of another host is not ours to start
    if places.of_host:
        if somebody_listens(places):
            return False
        raise UnavailableError("the daemon of this host does not run", how_to_start_again(places))
    if elsewhere := reached_elsewhere(places):
        raise elsewhere
    places.create()
    with _only_one_starter(places):
        if somebody_listens(places):
            return False
        _start(places)
        return True


@contextmanager
def _only_one_starter(places: Places) -> Iterator[None]:
    try:
        lock = os.open(places.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot_write(places.start_lock, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _start(places: Places) -> None:
    try:
        log = os.open(places.daemon_log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot_write(places.daemon_log, error) from error
    ready, ready_for_daemon = os.pipe()
    try:
        before = os.fstat(log).st_size
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "corral", "daemon", "run", "--ready-fd", str(ready_for_daemon)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=_environment(places),
                pass_fds=(ready_for_daemon,),
                start_new_session=True,
            )
        finally:
            os.close(ready_for_daemon)
        if not _answers_within(ready, READY_SECONDS):
            _leave_alone(process)
            raise UnavailableError(
                f"the daemon (pid {process.pid}) is not ready after {READY_SECONDS:g} s",
                f"`corral daemon status` tells when it is; {places.daemon_log} says what it does",
                last_words=_written_since(log, before),
            )
        if os.read(ready, 1):
            _leave_alone(process)
            return
        code = process.wait()
        words = _written_since(log, before)
        if not words:
            # Either it had nothing to say, or its words did not fit on the disk.
            try:
                os.write(log, b"\n")
            except OSError as error:
                raise _cannot_write(places.daemon_log, error) from error
        said = ":\n" + "\n".join("    " + line for line in words) if words else ""
        raise UnavailableError(
            f"the daemon ended as it started ({_ending(code)}){said}",
            f"{places.daemon_log} has all it said",
            last_words=words,
        )
    finally:
        os.close(ready)
        os.close(log)


def _answers_within(ready: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(ready, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _leave_alone(process: "subprocess.Popen[bytes]") -> None:
    # It outlives us on purpose; without this the object would warn that nobody waited for it.
    process.returncode = 0


def _environment(places: Places) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    environment["CORRAL_HOME"] = places.home
    environment["CORRAL_RUNTIME_DIR"] = places.runtime
    search = environment.get("PYTHONPATH")
    if search:
        # It starts in another directory, so what is relative to ours would be lost.
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in search.split(os.pathsep))
    return environment


def _written_since(log: int, position: int) -> list[str]:
    size = os.fstat(log).st_size
    start = max(position, size - 8192)
    text = os.pread(log, max(0, size - start), start).decode("utf-8", "replace")
    return text.splitlines()[-_LAST_LINES:]


def _ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _cannot_write(path: str, error: OSError) -> CorralError:
    return CorralError(
        f"cannot write {path}: {error.strerror}",
        "make room or make it writable for you, or set CORRAL_HOME and CORRAL_RUNTIME_DIR to other directories",
    )
