"""What a command in the foreground attends to while it waits for the daemon: signals, its standard input, the time.

Ctrl-C goes to the process and not to us: once it is interrupted, twice ended, and the third time we leave it alone.
Whatever happens, a terminal is left as it was found.
"""

import os
import select
import signal
import time
from types import FrameType, TracebackType

from corral.cli.proc_targets import Whose
from corral.client.answers import begin, raise_refusal
from corral.client.exchange import Exchange
from corral.domain.errors import NotFoundError, RefusedError

_CHUNK = 256 * 1024
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)
_STDIN = 0


class EndedBySignalError(Exception):
    """We were told to end. The process goes on."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class Attention:
    """Waits for an answer about one process, and deals with everything else meanwhile. To be used in a `with` block."""

    def __init__(self, whose: Whose, process: str, *, seconds: float | None, feeds: bool, raw: bool) -> None:
        """`feeds`: what we read goes to the process. `raw`: our terminal is its, key by key."""
        self._whose = whose
        self._process = process
        self._deadline = None if seconds is None else time.monotonic() + seconds
        #: The descriptor that is read for the process; None once there is nothing more to read.
        self._source = _STDIN if feeds else None
        self._raw = raw
        self._terminal: list[object] | None = None
        self._handlers: dict[int, object] = {}
        self._wakeup_before = -1
        self._woken, self._wakes = os.pipe()
        self._interrupts = 0
        #: What was written to the process and is not taken yet.
        self._writing: Exchange | None = None
        #: Requests whose answers are of no interest.
        self._asides: list[Exchange] = []

    def __enter__(self) -> "Attention":
        for descriptor in (self._woken, self._wakes):
            os.set_blocking(descriptor, False)
        self._handlers = {number: signal.signal(number, _nothing) for number in _SIGNALS}
        self._wakeup_before = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        if self._raw:
            import termios
            import tty

            self._terminal = termios.tcgetattr(_STDIN)
            tty.setraw(_STDIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal is not None:
            import termios

            termios.tcsetattr(_STDIN, termios.TCSADRAIN, self._terminal)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        for descriptor in (self._woken, self._wakes):
            os.close(descriptor)
        for exchange in [*self._asides, *([self._writing] if self._writing else [])]:
            exchange.close()

    def wait(self, answer: Exchange) -> bool:
        """True when more of the answer has come, False when time is up."""
        while True:
            ready = self._ready(answer)
            if self._woken in ready:
                self._heed_signals()
            self._heed_asides(ready)
            if self._writing is not None and self._writing.fileno() in ready:
                self._written(self._writing)
            elif self._source in ready and self._writing is None:
                self._feed(self._source)
            if answer.fileno() in ready:
                answer.receive()
                return True
            if self._deadline is not None and time.monotonic() >= self._deadline:
                return False

    def tell(self, path: str, *parameters: tuple[str, str | None]) -> None:
        """Ask for something that is done to the process, and do not wait for it."""
        self._asides.append(begin(self._whose.places, "POST", self._whose.about(self._process, path, *parameters)))

    def _ready(self, answer: Exchange) -> set[int]:
        poll = select.poll()
        descriptors = [answer.fileno(), self._woken, *(aside.fileno() for aside in self._asides)]
        if self._writing is not None:
            # Before it is taken nothing more is read: a process that reads slowly is waited for.
            descriptors.append(self._writing.fileno())
        elif self._source is not None:
            descriptors.append(self._source)
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic()) * 1000
        return {descriptor for descriptor, _ in poll.poll(left)}

    def _heed_signals(self) -> None:
        for number in os.read(self._woken, 4096):
            if number == signal.SIGINT:
                self._interrupt()
            elif number == signal.SIGWINCH:
                self._resize()
            else:
                raise EndedBySignalError(number)

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self.tell("/signal", ("signal", "INT"))
        elif self._interrupts == 2:
            self.tell("/kill")
        else:
            raise KeyboardInterrupt

    def _resize(self) -> None:
        if self._raw:
            columns, rows = os.get_terminal_size(_STDIN)
            self.tell("/resize", ("columns", str(columns)), ("rows", str(rows)))

    def _heed_asides(self, ready: set[int]) -> None:
        for aside in [aside for aside in self._asides if aside.fileno() in ready]:
            aside.receive()
            if aside.over:
                aside.close()
                self._asides.remove(aside)

    def _feed(self, source: int) -> None:
        data = os.read(source, _CHUNK)
        if not data:
            self._source = None
        path = self._whose.about(self._process, "/write", ("eof", "0" if data else "1"))
        self._writing = begin(self._whose.places, "POST", path, data)

    def _written(self, writing: Exchange) -> None:
        writing.receive()
        if not writing.over:
            return
        writing.close()
        self._writing = None
        try:
            raise_refusal(writing.response())
        except (RefusedError, NotFoundError):
            self._source = None  # it does not read any more, and that is its own affair


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """That the signal came is written to a pipe, and dealt with where it is read."""
