"""One process of the host: its record, what it writes, and what is written to it."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import select
import struct
import termios
from collections import deque
from collections.abc import Callable

from corral.adapters.subprocess.host_loop import Loop
from corral.adapters.subprocess.host_output import CHUNK, Output
from corral.adapters.subprocess.records import ProcessRecord
from corral.domain.errors import RefusedError

#: What may wait to be read by a process.
QUEUE_BYTES = 64 << 20
#: A pipe that has so much in it so often in a row is as good as full, and is made larger.
_FULL_BYTES, _FULL_TIMES = 48 << 10, 4
_LARGE_PIPE_BYTES = 1 << 20
#: The kernel gives a user only so much for pipes: no more than this many are made larger.
LARGE_PIPES = 16
#: What a terminal may still hold of a process that has ended.
_TERMINAL_BYTES = 1 << 18
_END_OF_FILE = b"\x04"


class Child:
    """A process, while it runs and afterwards for as long as it is remembered."""

    __slots__ = (
        "_full",
        "_left_open",
        "_loop",
        "_on_closed",
        "_on_output",
        "_queue",
        "_told_end",
        "_within_a_line",
        "answered",
        "cleared",
        "finished",
        "finished_at",
        "large_pipe",
        "lost",
        "output",
        "pidfd",
        "queued",
        "record",
        "source",
        "stdin",
        "unwritten",
        "waiting",
    )

    def __init__(
        self,
        record: ProcessRecord,
        output: Output,
        loop: Loop,
        on_output: Callable[[Child], None],
        on_closed: Callable[[Child], None],
    ) -> None:
        self.record = record
        self.output = output
        self._loop = loop
        self._on_output = on_output
        self._on_closed = on_closed
        #: Becomes readable when it ends; -1 once it has.
        self.pidfd = -1
        #: Where its output is read; -1 once there is no more.
        self.source = -1
        #: Where it can be written to, the same as `source` for a terminal; -1 if it cannot.
        self.stdin = -1
        self._queue: deque[memoryview] = deque()
        self.queued = 0
        self._told_end = False
        self._within_a_line = False
        #: Its terminal is kept, though nobody has it open: it has not ended.
        self._left_open = False
        #: How often in a row its pipe was full; -1 once something was done about it.
        self._full = 0
        self.large_pipe = False
        #: Whom to tell, once, when there is output past a position.
        self.waiting: dict[Callable[[Child], None], int] = {}
        #: Why it is not written down what is known of it; empty when it is.
        self.unwritten = ""
        #: What may have got lost of its output, and why; empty if nothing.
        self.lost = ""
        #: Somebody has all that there is of it.
        self.answered = False
        #: It has ended, and its cgroup, if it had one, is gone.
        self.cleared = False
        #: Its output is closed as well: as far as the host can know, nothing of it runs.
        self.finished = False
        #: When that was, on the clock that only goes on.
        self.finished_at = 0.0

    # What it writes

    def read_from(self, source: int) -> None:
        """Its output comes from here: a pipe that does not block, or the other end of its terminal."""
        self.source = source
        self._loop.watch(source, select.EPOLLIN, self._readable)

    def _readable(self, events: int) -> None:
        if not events & select.EPOLLIN:
            self._nobody_writes()  # nobody has it open, and nothing is left in it
            return
        try:
            count = self._read_terminal() if self.record.tty else self._read_pipe()
        except BlockingIOError:
            return
        if count:
            if self._left_open:
                self._left_open = False
                self._watch_terminal()
            self._on_output(self)
        else:
            self._nobody_writes()

    def _nobody_writes(self) -> None:
        """Nobody has the other end of its output open."""
        if not self.record.tty or self.pidfd < 0:
            self.close_output()
        elif not self._left_open:
            # It has closed its terminal, and is about to end, or will open it again. To hang up now would end it by a
            # signal. Only news of it wake us: that nobody has it open is the case all the time.
            self._left_open = True
            self._loop.watch(self.source, select.EPOLLIN | select.EPOLLET, self._terminal)

    def _watch_terminal(self) -> None:
        if not self._left_open:
            self._loop.watch(self.source, self._terminal_events(), self._terminal)

    def _read_pipe(self) -> int:
        count = self.output.take(self.source)
        if self._full >= 0:
            self._full = self._full + 1 if count >= _FULL_BYTES else 0
        return count

    def _read_terminal(self) -> int:
        try:
            data = os.read(self.source, CHUNK)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return 0  # what a terminal says when nobody has the other end open
        self.output.add(data)
        return len(data)

    @property
    def writes_much(self) -> bool:
        """True if a larger pipe would serve it."""
        return self._full >= _FULL_TIMES

    def enlarge_pipe(self) -> None:
        """Make its pipe larger, if the kernel lets us. It is asked once."""
        self._full = -1
        try:
            fcntl.fcntl(self.source, fcntl.F_SETPIPE_SZ, _LARGE_PIPE_BYTES)
        except PermissionError:
            return  # the user has as much in pipes as is allowed, and this one goes on as it is
        self.large_pipe = True

    def drain(self) -> None:
        """Take what it had written by now. Not more: what it left behind may write for ever."""
        if self.source < 0:
            return
        left = _TERMINAL_BYTES if self.record.tty else _bytes_in(self.source)
        try:
            while left > 0:
                count = self._read_terminal() if self.record.tty else self.output.take(self.source)
                if not count:
                    return
                left -= count
        except BlockingIOError:
            return

    def notice_end_of_output(self) -> None:
        """Close its output now if nobody has it open, instead of when the loop comes to it."""
        if self.source >= 0 and not self.record.tty:
            poller = select.poll()
            poller.register(self.source, select.POLLIN)
            if any(events & select.POLLHUP and not events & select.POLLIN for _, events in poller.poll(0)):
                self.close_output()

    def close_output(self) -> None:
        """There will be no more of it."""
        if self.source >= 0:
            if self.stdin == self.source:
                self.stdin = -1
            self._loop.let_go(self.source)
            os.close(self.source)
            self.source = -1
        self.output.close()
        self._on_closed(self)

    # What is written to it

    def write(self, data: bytes, room: int, *, eof: bool) -> None:
        """Have it read this, and with `eof` nothing after it. There must be room for so much: more of it may follow."""
        if not self.record.stdin:
            if self.record.host != os.getpid():
                raise RefusedError(
                    f"{self.record.process} cannot be written to any more: the host that held its input was killed",
                    "start it again",
                )
            raise RefusedError(f"{self.record.process} was not started to be written to", "start it with --stdin")
        if self._told_end:
            raise RefusedError(f"{self.record.process} has been told the end of its input", "nothing can follow that")
        if self.stdin < 0:
            raise RefusedError(f"{self.record.process} does not read any more", "it has closed its input, or ended")
        if self.queued + room > QUEUE_BYTES:
            raise RefusedError(
                f"{self.record.process} does not read: {self.queued} bytes wait for it already",
                "see what it does; it can be written to again once it reads",
            )
        if data:
            self._enqueue(data)
            self._within_a_line = not data.endswith(b"\n")
        if eof and self.record.tty:
            # A terminal hands over the line as it is; only an empty one means the end. What that means to a program
            # that reads keys is its own affair, so more may follow.
            self._enqueue(_END_OF_FILE * 2 if self._within_a_line else _END_OF_FILE)
            self._within_a_line = False
        elif eof:
            self._told_end = True
        self._write()

    def _enqueue(self, data: bytes) -> None:
        self._queue.append(memoryview(data))
        self.queued += len(data)

    def _write(self) -> None:
        try:
            while self._queue:
                count = os.write(self.stdin, self._queue[0])
                self.queued -= count
                if count < len(self._queue[0]):
                    self._queue[0] = self._queue[0][count:]
                else:
                    self._queue.popleft()
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):
                raise
            self.close_stdin()  # nobody reads any more
            return
        if self.record.tty:
            self._watch_terminal()
        elif self._queue:
            self._loop.watch(self.stdin, select.EPOLLOUT, lambda _: self._write())
        else:
            self._loop.let_go(self.stdin)
            if self._told_end:
                self.close_stdin()

    def _terminal_events(self) -> int:
        return select.EPOLLIN | (select.EPOLLOUT if self._queue else 0)

    def _terminal(self, events: int) -> None:
        if events & select.EPOLLOUT:
            self._write()
        if events & ~select.EPOLLOUT and self.source >= 0:
            self._readable(events)

    def watch(self, tell: Callable[[Child], None], after: int) -> None:
        """Tell somebody once when there is output past a position; if he asks for several, past the first of them."""
        self.waiting[tell] = min(after, self.waiting.get(tell, after))
        self.tell_waiting()

    def tell_waiting(self) -> None:
        """Tell those for whom there is something now."""
        for tell in [tell for tell, after in self.waiting.items() if self.output.end > after]:
            del self.waiting[tell]
            tell(self)

    def let_go(self) -> None:
        """Let go of everything that is open for it."""
        self.close_stdin()
        self.let_go_of_end()
        if self.source >= 0:
            self._loop.let_go(self.source)
            os.close(self.source)
            self.source = -1
        self.waiting.clear()

    def let_go_of_end(self) -> None:
        """Its end is known."""
        if self.pidfd >= 0:
            self._loop.let_go(self.pidfd)
            os.close(self.pidfd)
            self.pidfd = -1
        if self._left_open:
            self._left_open = False
            self._watch_terminal()

    def close_stdin(self) -> None:
        """It will be given nothing more to read."""
        if self.stdin >= 0 and self.stdin != self.source:
            self._loop.let_go(self.stdin)
            os.close(self.stdin)
        self.stdin = -1
        self._queue.clear()
        self.queued = 0

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of its terminal."""
        if not self.record.tty or self.source < 0:
            raise RefusedError(f"{self.record.process} has no terminal", "only what was started with --tty has one")
        set_size(self.source, columns, rows)


def set_size(terminal: int, columns: int, rows: int) -> None:
    """Have a terminal be of this size; what runs in it is told."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _bytes_in(pipe: int) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0]
