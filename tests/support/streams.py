"""Following a command that prints line by line, with a deadline on every line."""

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any


class Stream:
    """A running command, read by line. Ends with the `with` block, by SIGTERM if it has not ended by itself."""

    def __init__(self, argv: Sequence[str], cwd: str, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        #: Every line that was read, for the message of a failure.
        self.lines: list[str] = []
        self._pending = b""

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.process:
            if self.process.poll() is None:
                self.process.terminate()
            try:
                self.process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise

    def line(self, seconds: float = 20.0) -> str:
        """The next line; fails if none comes in time or the command ends."""
        until = time.monotonic() + seconds
        assert self.process.stdout
        fd = self.process.stdout.fileno()
        while b"\n" not in self._pending:
            left = until - time.monotonic()
            assert left > 0, f"no line for {seconds:g} seconds after {self.lines[-20:]}"
            if select.select([fd], [], [], left)[0]:
                data = os.read(fd, 1 << 16)
                assert data, f"the stream ended after {self.lines[-20:]}: {self._errors()}"
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        self.lines.append(line.decode())
        return self.lines[-1]

    def until(self, wanted: Callable[[Any], object], seconds: float = 20.0) -> Any:
        """Read JSON lines until one is `wanted`; that one."""
        end = time.monotonic() + seconds
        while True:
            document = json.loads(self.line(end - time.monotonic()))
            if wanted(document):
                return document

    def _errors(self) -> str:
        assert self.process.stderr
        return self.process.stderr.read().decode("utf-8", "replace")
