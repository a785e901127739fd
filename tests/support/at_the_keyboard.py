"""A person who sits at an agent's terminal: a real tmux client on a pty, whose keys are pressed one by one."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType


class AtTheKeyboard:
    """Attached by `argv` as long as the block lasts. What the terminal shows is read, and the end of it kept."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], cwd: str = "/") -> None:
        self._argv, self._environment, self._cwd = list(argv), dict(environment), cwd
        self._seen = threading.Event()
        #: The last bytes that were written to the terminal.
        self.shown = b""
        self._reaped: set[int] = set()

    def __enter__(self) -> "AtTheKeyboard":
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(self._cwd)
            os.execvpe(self._argv[0], self._argv, {**self._environment, "TERM": "xterm-256color"})
        self._ended, self._tell = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._seen.wait(20), "nothing was shown"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pid not in self._reaped:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.write(self._tell, b".")
        self._reader.join()
        for descriptor in (self._terminal, self._ended, self._tell):
            os.close(descriptor)

    @property
    def pid(self) -> int:
        """The process that has the terminal."""
        return self._pid

    def exit_code(self) -> int:
        """Wait for it to end by itself: how it did."""
        _, status = os.waitpid(self._pid, 0)
        self._reaped.add(self._pid)
        return os.waitstatus_to_exitcode(status)

    def press(self, keys: str | bytes) -> None:
        """Keys, as fast as they go."""
        os.write(self._terminal, keys.encode() if isinstance(keys, str) else keys)

    def resize(self, columns: int, rows: int) -> None:
        """Have the terminal be so large from now on; who sits in it is told."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str, pause: float = 0.01) -> None:
        """A text, letter by letter."""
        for letter in text:
            self.press(letter)
            time.sleep(pause)

    def meanwhile(self, do: Callable[["AtTheKeyboard", threading.Event], None]) -> "Meanwhile":
        """Have something done at the keyboard beside the test, until it is told to stop."""
        return Meanwhile(lambda stop: do(self, stop))

    def _read(self) -> None:
        while True:
            readable, _, _ = select.select([self._terminal, self._ended], [], [])
            if self._ended in readable:
                return
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:
                return
            if not data:
                return
            self.shown = (self.shown + data)[-(1 << 16) :]
            self._seen.set()


class Meanwhile:
    """Something that goes on beside a test. An error in it is the test's."""

    def __init__(self, do: Callable[[threading.Event], None]) -> None:
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(do,), daemon=True)

    def _run(self, do: Callable[[threading.Event], None]) -> None:
        try:
            do(self._stop)
        except BaseException as error:
            self._error = error

    def __enter__(self) -> "Meanwhile":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()
        if self._error is not None and error is None:
            raise self._error
