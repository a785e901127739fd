"""Our own terminal, key by key, for a command that paints on it. Whatever happens, it is left as it was found."""

import os
import select
import signal
import sys
from types import FrameType, TracebackType

_STDIN, _STDOUT = 0, 1
#: What ends us. Ctrl-C is a key here.
ENDING = (signal.SIGTERM, signal.SIGHUP)
_SIGNALS = (*ENDING, signal.SIGWINCH)
#: What a program that was painted may have left behind: another screen, colours, a hidden cursor, reports of mouse and
#: focus, marked pastes, other keypads and keyboards.
RESTORING = (
    b"\x18\x1b[m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?2004l\x1b[?7727l\x1b[>4m\x1b[?1l\x1b>"
    b"\x1b[r\x1b[?7h\x1b[?25h\x1b[?1049l"
)


class RawTerminal:
    """To be used in a `with` block; standard input and output must be a terminal."""

    def __init__(self) -> None:
        self._before: list[object] = []
        self._handlers: dict[int, object] = {}
        self._woken, self._wakes = os.pipe()
        self._wakeup_before = -1
        #: Before anything was, there is nothing to restore: that alone would jump to the top of the screen.
        self._painted = False

    def __enter__(self) -> "RawTerminal":
        import termios
        import tty

        sys.stdout.flush()
        for descriptor in (self._woken, self._wakes):
            os.set_blocking(descriptor, False)
        self._handlers = {number: signal.signal(number, _nothing) for number in _SIGNALS}
        self._wakeup_before = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        self._before = termios.tcgetattr(_STDIN)
        tty.setraw(_STDIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import termios

        try:
            if self._painted:
                self.paint(RESTORING)
            # What the terminal answered to questions of the program is for nobody.
            when = termios.TCSAFLUSH if self._painted else termios.TCSADRAIN
            termios.tcsetattr(_STDIN, when, self._before)  # type: ignore[arg-type]
        except (OSError, termios.error) as gone:
            if kind is None:
                sys.stderr.write(f"corral: the terminal is gone: {gone}\n")
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        for descriptor in (self._woken, self._wakes):
            os.close(descriptor)

    def wait(self, other: int | None = None, seconds: float | None = None) -> "tuple[bool, bool, list[int]]":
        """Whether keys can be read, whether `other` can, and the signals that came; or nothing after `seconds`."""
        poll = select.poll()
        for descriptor in (_STDIN, self._woken, *([] if other is None else [other])):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)}
        signals = list(os.read(self._woken, 4096)) if self._woken in ready else []
        return _STDIN in ready, other in ready, signals

    def keys(self) -> bytes:
        """What was typed; nothing if the terminal is gone."""
        try:
            return os.read(_STDIN, 1 << 16)
        except OSError:
            return b""

    def paint(self, data: bytes) -> None:
        """Write it, all of it."""
        self._painted = True
        while data:
            data = data[os.write(_STDOUT, data) :]

    @staticmethod
    def size() -> tuple[int, int]:
        """Columns and rows; 80 and 24 if it does not know."""
        columns, rows = os.get_terminal_size(_STDOUT)
        return columns or 80, rows or 24


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """That the signal came is written to a pipe, and dealt with where it is read."""
