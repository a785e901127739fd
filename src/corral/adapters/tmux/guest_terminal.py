"""A terminal of the keeper's own on which a tmux client runs, as on a person's.

tmux paints for it what it would paint for a person who is attached: at its size, clipped if that is smaller than the
program's, and with nothing of what a program writes that only tmux should see. The client is a child of the keeper and
has the terminal for its controlling one: when the keeper goes, the kernel hangs it up, and it goes as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable, Mapping, Sequence

from corral.domain.errors import UnavailableError

_SIZE = struct.Struct("4H")
_CHUNK = 1 << 16
#: Keys that tmux has not read yet. A paste is some kilobytes; whoever waits for more than this has lost the server.
_MOST_KEYS = 1 << 20
#: What the keeper ignores and a client must not.
_SIGNALS = (signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)


class PtyGuest:
    """See `ports.sessions.GuestTerminal`. Callbacks run in the event loop; `on_closed` once, and not after `close`."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int],
        *,
        on_output: Callable[[bytes], None],
        on_closed: Callable[[], None],
        repaint: Callable[[str], None],
    ) -> None:
        """Start `argv`, a tmux client. `repaint` is given the name of this terminal when all is to be painted anew."""
        self._on_output = on_output
        self._on_closed = on_closed
        self._repaint = repaint
        self._loop = asyncio.get_running_loop()
        self._keys = bytearray()
        self._held = False
        self._closed = False
        self._ours, theirs = os.openpty()
        try:
            self.name = os.ttyname(theirs)
            os.set_blocking(self._ours, False)
            self.resize(*size)
            self._pid = _spawn(argv, environment, self.name)
            self._ended = os.pidfd_open(self._pid)
        except OSError as error:
            os.close(self._ours)
            raise UnavailableError(
                f"{argv[0]} cannot be run: {error.strerror}", "keeper.log in CORRAL_HOME may tell why; try again"
            ) from error
        finally:
            os.close(theirs)
        self._loop.add_reader(self._ended, self._reap)
        self._loop.add_reader(self._ours, self._read)

    def write(self, data: bytes) -> None:
        """See `GuestTerminal.write`."""
        if self._closed or len(self._keys) + len(data) > _MOST_KEYS:
            return
        if not self._keys:
            self._loop.add_writer(self._ours, self._flush)
        self._keys += data
        self._flush()

    def resize(self, columns: int, rows: int) -> None:
        """See `GuestTerminal.resize`. The kernel tells the client."""
        if not self._closed:
            fcntl.ioctl(self._ours, termios.TIOCSWINSZ, _SIZE.pack(rows, columns, 0, 0))

    def redraw(self) -> None:
        """See `GuestTerminal.redraw`."""
        if not self._closed:
            self._repaint(self.name)

    def hold(self, *, held: bool) -> None:
        """See `GuestTerminal.hold`. tmux itself leaves out what a terminal does not take, and paints it anew later."""
        if self._closed or held == self._held:
            return
        self._held = held
        if held:
            self._loop.remove_reader(self._ours)
        else:
            self._loop.add_reader(self._ours, self._read)

    def close(self) -> None:
        """See `GuestTerminal.close`."""
        self._let_go()
        # It is our child and not reaped yet, so the pid is its own; a server that hangs would keep it waiting.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def _read(self) -> None:
        try:
            data = os.read(self._ours, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # the client has closed its side
        if data:
            self._on_output(data)
        else:
            self._lost()

    def _flush(self) -> None:
        try:
            while self._keys:
                del self._keys[: os.write(self._ours, self._keys)]
        except BlockingIOError:
            return
        except OSError:
            self._keys.clear()  # it is about to be told that the client is gone
        self._loop.remove_writer(self._ours)

    def _reap(self) -> None:
        self._loop.remove_reader(self._ended)
        os.close(self._ended)
        os.waitpid(self._pid, 0)
        self._lost()

    def _lost(self) -> None:
        if not self._closed:
            self._let_go()
            self._on_closed()

    def _let_go(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._ours)
        if self._keys:
            self._keys.clear()
            self._loop.remove_writer(self._ours)
        os.close(self._ours)


def _spawn(argv: Sequence[str], environment: Mapping[str, str], terminal: str) -> int:
    """Start a program that has `terminal` for its controlling one: the first that the leader of a session opens."""
    return os.posix_spawnp(
        argv[0],
        list(argv),
        dict(environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=_SIGNALS,
    )
