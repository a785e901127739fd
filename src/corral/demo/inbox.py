"""How messages reach a demo agent: it waits for keys, composes, and hands over what was submitted."""

import contextlib
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Iterator

from corral.demo.keys import (
    BACKSPACE,
    CLEAR,
    END,
    ENTER,
    ESCAPE,
    INTERRUPT,
    Event,
    Key,
    Keyboard,
    Lines,
    Pasted,
    TooLong,
    Typed,
)

#: The largest message that is taken, in bytes of UTF-8.
LIMIT = 1 << 20

#: How long an Escape may wait for the rest of a sequence before it counts as the key.
_ESCAPE_PAUSE = 0.1
_CHUNK = 1 << 16


class End(Exception):  # noqa: N818 - it is how an agent ends, not an error
    """The agent must end now, with this exit code. Raised only where it waits, never in the middle of a step."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Inbox:
    """The composer and the messages that were submitted from it, oldest first.

    `terminal` says whether `fd` sends keys or lines; `wake_fd` becomes readable when a signal came.
    """

    def __init__(self, fd: int, terminal: bool, wake_fd: int) -> None:
        self.messages: deque[str] = deque()
        #: Set when the person pressed Escape (or Ctrl-C) while the agent was `busy`.
        self.interrupted = False
        self.busy = False
        #: Called with a text when something was not taken.
        self.complain: Callable[[str], None] = lambda _: None
        self._fd = fd
        self._terminal = terminal
        self._decoder: Keyboard | Lines = Keyboard(LIMIT) if terminal else Lines()
        self._wake_fd = wake_fd
        self._open = True
        self._composed: list[str] = []
        self._size = 0
        #: How many choices a dialog offers; 0 while none is open.
        self._choices = 0
        #: What was chosen of them.
        self.chosen: int | None = None

    @property
    def composed(self) -> str:
        """What is in the composer."""
        return "".join(self._composed)

    @property
    def exhausted(self) -> bool:
        """True when nothing can come any more and everything that came was taken."""
        return not self._open and not self.messages

    @contextlib.contextmanager
    def choosing(self, choices: int) -> Iterator[None]:
        """While this lasts keys choose, and nothing else that comes is taken; see `chosen`."""
        self._choices, self.chosen = choices, None
        try:
            yield
        finally:
            self._choices = 0

    def wait(self, seconds: float | None = None, also: int | None = None) -> bool:
        """Take in what comes first, for `seconds` at most; True if the descriptor `also` became readable."""
        if self._decoder.undecided:
            seconds = _ESCAPE_PAUSE if seconds is None else min(seconds, _ESCAPE_PAUSE)
        watched = [self._wake_fd, *([self._fd] if self._open else []), *([] if also is None else [also])]
        readable, _, _ = select.select(watched, [], [], seconds)
        if self._wake_fd in readable:
            raise End(128 + os.read(self._wake_fd, 1)[0])
        if self._fd in readable:
            self._read()
        elif not readable:
            self._take(self._decoder.settle())
        return also in readable

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except OSError:
            data = b""
        if data:
            self._take(self._decoder.feed(data))
        elif isinstance(self._decoder, Lines):
            self._open = False
            self._take(self._decoder.close())
        else:
            raise End(128 + signal.SIGHUP)  # the terminal is gone

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if self._choices and self.chosen is None:
                self._choose(event)
                continue
            match event:
                case Typed(text) | Pasted(text):
                    self._add(text)
                case TooLong(size):
                    self.complain(f"a paste of {size} bytes is more than {LIMIT}: not taken")
                case Key():
                    self._press(event)

    def _choose(self, event: Event) -> None:
        """A key chooses; so does a line that comes through a pipe. What is none of the choices is dropped."""
        match event:
            case Typed(text) | Pasted(text):
                word = {"y": "1", "n": str(self._choices)}.get(text.lower(), text)
                is_choice = word.isascii() and word.isdigit() and 1 <= int(word) <= self._choices
                if is_choice and (isinstance(event, Typed) or not self._terminal):
                    self.chosen = int(word)
            case Key() if event == ESCAPE:
                self.chosen = self._choices
            case Key() if event in (INTERRUPT, END):
                raise End(128 + signal.SIGINT)
            case _:
                return

    def _add(self, text: str) -> None:
        size = self._size + len(text.encode())
        if size > LIMIT:
            self.complain(f"a message of {size} bytes is more than {LIMIT}: not taken")
            return
        self._composed.append(text)
        self._size = size

    def _press(self, key: Key) -> None:
        if key == ENTER:
            self._submit()
        elif key == BACKSPACE and self._composed:
            self._replace(self.composed[:-1])
        elif key == CLEAR:
            self._replace("")
        elif key in (ESCAPE, INTERRUPT) and self.busy:
            self.interrupted = True
        elif key == INTERRUPT and self._composed:
            self._replace("")
        elif key in (INTERRUPT, END) and not self.busy and not self._composed:
            raise End(0 if key == END else 128 + signal.SIGINT)

    def _replace(self, text: str) -> None:
        self._composed = [text] if text else []
        self._size = len(text.encode())

    def _submit(self) -> None:
        message = self.composed
        self._replace("")
        if message:
            self.messages.append(message)


@contextlib.contextmanager
def signals_as_bytes(*numbers: signal.Signals) -> Iterator[int]:
    """A descriptor from which each of these signals can be read as one byte, its number."""
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
    wake_before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(wake_before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(read_end)
        os.close(write_end)
