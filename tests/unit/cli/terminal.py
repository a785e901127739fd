"""A command on a terminal of its own: a real pty, of a real size."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence


def run_on_terminal(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    columns: int = 80,
    keys: str = "",
    until: str = "",
    seconds: float = 30.0,
) -> tuple[int, str]:
    """The exit code and everything the terminal got. `keys` are typed once `until` is to be seen."""
    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)
        try:
            received = _received(master, keys, until, time.monotonic() + seconds)
            return process.wait(timeout=seconds), received.decode("utf-8", "replace")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    finally:
        os.close(master)


def _received(master: int, keys: str, until: str, deadline: float) -> bytes:
    received = b""
    while True:
        left = deadline - time.monotonic()
        assert left > 0, f"the command did not end; it wrote {received[-2000:]!r}"
        if not select.select([master], [], [], left)[0]:
            continue
        try:
            data = os.read(master, 1 << 16)
        except OSError:  # the last one has closed the terminal
            return received
        if not data:
            return received
        received += data
        if keys and until.encode() in received:
            os.write(master, keys.encode())
            keys = ""
