"""A private tmux server for a test that wants a real terminal without Corral in between."""

import os
import subprocess
from collections.abc import Sequence
from types import TracebackType

from tests.support import processes
from tests.support.waiting import wait_for


class Tmux:
    """One server with one pane that runs `argv`, on a socket in `directory`. Ends with the `with` block."""

    def __init__(self, directory: str | os.PathLike[str], argv: Sequence[str], cwd: str | os.PathLike[str]) -> None:
        self._base = ["tmux", "-S", os.path.join(directory, "tmux.sock"), "-f", os.devnull]
        # tmux itself now and then misses how a pane ended, so a shell writes it down.
        self._code = os.path.join(directory, "exit-code")
        shell = ["sh", "-c", '"$@"; echo $? >"$0"', self._code]
        self("new-session", "-d", "-x", "100", "-y", "30", "-c", str(cwd), *shell, *argv, ";",
             "set-option", "-g", "remain-on-exit", "on")  # fmt: skip
        self.pid, self._shell = map(int, self("display-message", "-p", "#{pid} #{pane_pid}").split())

    def __call__(self, *command: str, input: bytes | None = None) -> str:  # noqa: A002 - as in subprocess.run
        """Run a tmux command; what it printed."""
        done = subprocess.run([*self._base, *command], input=input, capture_output=True, timeout=30, check=False)
        assert done.returncode == 0, f"tmux {command[0]}: {done.stderr.decode()}"
        return done.stdout.decode().removesuffix("\n")

    def paste(self, text: bytes) -> None:
        """Paste as Corral does: bracketed if the program asked for it."""
        self("load-buffer", "-b", "test", "-", input=text)
        self("paste-buffer", "-p", "-d", "-b", "test")

    def screen(self) -> list[str]:
        """The lines of the pane, the empty ones at the end left out."""
        return self("capture-pane", "-p").rstrip("\n").split("\n")

    def shows(self, text: str, seconds: float = 20.0) -> list[str]:
        """Wait until the pane shows `text`; its lines then."""

        def lines() -> list[str] | None:
            now = self.screen()
            return now if any(text in line for line in now) else None

        return wait_for(lines, seconds, f"the pane shows {text!r}")

    def program(self) -> int:
        """The pid of the program in the pane."""
        return processes.child_of(self._shell)

    def exit_code(self) -> int:
        """Wait until the program has ended; its exit code, as a shell sees it."""
        shell = processes.process(self._shell)
        if shell:
            processes.wait_gone([shell], 20)
        with open(self._code) as file:
            return int(file.read())

    def __enter__(self) -> "Tmux":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server = processes.process(self.pid)
        self("kill-server")
        if server:
            processes.wait_gone([server], 10)
