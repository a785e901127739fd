"""What a command in the foreground attends to while it waits for the daemon: signals, its standard input, the time.

Ctrl-C goes to the process and not to us: once it is interrupted, twice ended, and the third time we leave it alone.
Whatever happens, a terminal is left as it was found.
"""

import os
import select
import signal
import time
from types import FrameType, TracebackType

from corral.cli.proc_stream import LONGEST_POLL
from corral.cli.proc_targets import Whose
from corral.client.answers import begin, raise_refusal
from corral.client.exchange import Exchange
from corral.domain.errors import DeniedError, NotFoundError, RefusedError

_CHUNK = 256 * 1024
#: Until a process to which nothing more can be written now is tried again.
_AGAIN_SECONDS = 0.1
#: For what is on its way to the process when it is not waited for any longer.
_SETTLE_SECONDS = 5.0
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
        #: Our terminal is the process's, key by key.
        self.raw = raw
        self._terminal: list[object] | None = None
        self._handlers: dict[int, object] = {}
        self._wakeup_before = -1
        self._woken, self._wakes = os.pipe()
        self._interrupts = 0
        #: What is being written to the process, and whether it is nothing, only to see if that is refused too.
        self._writing: Exchange | None = None
        self._probing = False
        #: What was read for the process and is not taken yet, and when that is tried again.
        self._chunk = b""
        self._again_at: float | None = None
        #: How many bytes it has taken.
        self._given = 0
        #: Requests whose answers are of no interest.
        self._asides: list[Exchange] = []

    def __enter__(self) -> "Attention":
        for descriptor in (self._woken, self._wakes):
            os.set_blocking(descriptor, False)
        self._handlers = {number: signal.signal(number, _nothing) for number in _SIGNALS}
        self._wakeup_before = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        if self.raw:
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
        while not self._turn(answer):
            if self._is_late:
                return False
        return True

    def feed(self, answer: Exchange) -> None:
        """Give the process all of its input. Ends earlier if it does not read, with the answer, or when time is up."""
        while (self._source is not None or self._writing is not None) and not answer.over and not self._is_late:
            self._turn(answer)

    def given(self) -> int | None:
        """How many bytes the process was given, if it can read more; None if it was told the end, or does not read.

        None for a terminal, too: that has no end.
        """
        poll = select.poll()
        while self._writing is not None:
            poll.register(self._writing.fileno(), select.POLLIN)
            if not poll.poll(_SETTLE_SECONDS * 1000):
                break
            poll.unregister(self._writing.fileno())
            self._written(self._writing)
        return None if self._source is None or self.raw else self._given

    def _turn(self, answer: Exchange) -> bool:
        """Deal with what comes next; True if it is more of the answer."""
        ready = self._ready(answer)
        if self._woken in ready:
            self._heed_signals()
        self._heed_asides(ready)
        if self._writing is not None and self._writing.fileno() in ready:
            self._written(self._writing)
        elif self._again_at is not None and time.monotonic() >= self._again_at:
            self._again_at = None
            self._write(self._chunk)
        elif self._source in ready and self._writing is None:
            self._feed(self._source)
        if answer.fileno() not in ready:
            return False
        answer.receive()
        return True

    @property
    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def tell(self, path: str, *parameters: tuple[str, str | None]) -> None:
        """Ask for something that is done to the process, and do not wait for it."""
        self._asides.append(begin(self._whose.places, "POST", self._whose.about(self._process, path, *parameters)))

    def _ready(self, answer: Exchange) -> set[int]:
        poll = select.poll()
        descriptors = [answer.fileno(), self._woken, *(aside.fileno() for aside in self._asides)]
        if self._writing is not None:
            # Before it is taken nothing more is read: a process that reads slowly is waited for.
            descriptors.append(self._writing.fileno())
        elif self._source is not None and self._again_at is None:
            descriptors.append(self._source)
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        now = time.monotonic()
        waits = [moment - now for moment in (self._deadline, self._again_at) if moment is not None]
        seconds = max(0.0, min([LONGEST_POLL, *waits]))
        return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}

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
        size = own_terminal_size() if self.raw else None
        if size is not None:
            self.tell("/resize", ("columns", str(size[0])), ("rows", str(size[1])))

    def _heed_asides(self, ready: set[int]) -> None:
        for aside in [aside for aside in self._asides if aside.fileno() in ready]:
            aside.receive()
            if aside.over:
                aside.close()
                self._asides.remove(aside)

    def _feed(self, source: int) -> None:
        self._chunk = os.read(source, _CHUNK)
        if not self._chunk:
            self._source = None
        self._write(self._chunk, eof=not self._chunk)

    def _write(self, data: bytes, *, eof: bool = False) -> None:
        path = self._whose.about(self._process, "/write", ("eof", "1" if eof else "0"))
        self._writing = begin(self._whose.places, "POST", path, data)

    def _written(self, writing: Exchange) -> None:
        writing.receive()
        if not writing.over:
            return
        writing.close()
        self._writing = None
        probed, self._probing = self._probing, False
        try:
            raise_refusal(writing.response())
        except DeniedError:
            raise  # who may not type any more is told so, and not left to wait
        except (RefusedError, NotFoundError):
            if self._chunk and not probed:
                # Too much waits for it already, or it does not read any more: then nothing is refused as well.
                self._probing = True
                self._write(b"")
            else:
                self._source = None  # that it does not read any more is its own affair
            return
        if probed:
            self._again_at = time.monotonic() + _AGAIN_SECONDS
        else:
            self._given += len(self._chunk)


def own_terminal_size() -> tuple[int, int] | None:
    """The columns and rows of our terminal; None if it does not know them, and says 0."""
    columns, rows = os.get_terminal_size(_STDIN)
    return (columns, rows) if columns and rows else None


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """That the signal came is written to a pipe, and dealt with where it is read."""
