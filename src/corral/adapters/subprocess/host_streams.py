"""What a process reads from and writes to, and the other ends of it."""

from __future__ import annotations

import os
import termios

from corral.adapters.subprocess.host_child import set_size

#: Bytes are UTF-8, so that erasing takes a character and not a part of it (asm-generic/termbits.h).
_IUTF8 = 0o40000


class Streams:
    """The child's ends, which the host closes once it is born, and the host's."""

    __slots__ = ("childs_output", "childs_stdin", "name", "source", "stdin")

    def __init__(self) -> None:
        #: Where its output is read.
        self.source = -1
        #: Where it is written to; the same for a terminal, -1 if it is not written to.
        self.stdin = -1
        self.childs_output = -1
        #: -1: an empty one.
        self.childs_stdin = -1
        #: As `/proc/PID/fd` shows its output.
        self.name = ""

    def close_childs(self) -> None:
        """The child has them now."""
        for descriptor in {self.childs_output, self.childs_stdin} - {-1}:
            os.close(descriptor)
        self.childs_output = self.childs_stdin = -1

    def close(self) -> None:
        """There is no child."""
        self.close_childs()
        for descriptor in {self.source, self.stdin} - {-1}:
            os.close(descriptor)


def open_streams(*, tty: bool, stdin: bool, columns: int, rows: int) -> Streams:
    """A pipe for its output, and one to be written to if it is; or a terminal. Raises `OSError`."""
    streams = Streams()
    try:
        if tty:
            _open_terminal(streams, columns, rows)
        else:
            _open_pipes(streams, stdin=stdin)
    except BaseException:
        streams.close()
        raise
    return streams


def _open_pipes(streams: Streams, *, stdin: bool) -> None:
    streams.source, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(streams.source, False)
    try:
        streams.name = os.readlink(f"/proc/self/fd/{streams.source}")
        # Opened anew, for both: as long as the child could read it itself, nobody who goes away gives it a SIGPIPE.
        streams.childs_output = os.open(f"/proc/self/fd/{writing}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(writing)
    if stdin:
        streams.childs_stdin, streams.stdin = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(streams.stdin, False)


def _open_terminal(streams: Streams, columns: int, rows: int) -> None:
    streams.source, streams.childs_output = os.openpty()
    streams.childs_stdin, streams.stdin = streams.childs_output, streams.source
    os.set_blocking(streams.source, False)
    streams.name = os.ttyname(streams.childs_output)
    set_size(streams.childs_output, columns, rows)
    settings = termios.tcgetattr(streams.childs_output)
    settings[0] |= _IUTF8
    termios.tcsetattr(streams.childs_output, termios.TCSANOW, settings)
