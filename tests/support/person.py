"""The person in whose account the tests run: a home of their own, and their own tmux server on the default socket.

Every test that starts anything real runs beside that server. It has habits that break careless programs: windows
count from 1, sessions have names that teams like to have, and keys typed into the wrong pane show up.
"""

import os
import stat
import subprocess
import tempfile
from pathlib import Path

from tests.support import processes
from tests.support.files import remove_tree

_GIT = """\
[user]
\tname = A Person
\temail = person@example.invalid
[init]
\tdefaultBranch = main
"""

_TMUX = """\
set -g base-index 1
set -g pane-base-index 1
set -g status-left "mine "
set -g prefix C-a
set -g automatic-rename off
set -g @habit "keep"
"""

#: Everything about the server that a person would notice if it changed.
_QUESTIONS = (
    ("panes", ["list-panes", "-a", "-F", "#{session_id} #{session_name} #{session_created} #{session_attached} "
               "#{window_id} #{window_index} #{window_name} #{window_width}x#{window_height} "
               "#{pane_id} #{pane_pid} #{pane_dead} #{pane_in_mode}"]),
    ("first screen", ["capture-pane", "-p", "-t", "=mine:"]),
    ("second screen", ["capture-pane", "-p", "-t", "=shop:"]),
    ("server options", ["show-options", "-s"]),
    ("session options", ["show-options", "-g"]),
    ("window options", ["show-options", "-gw"]),
    ("hooks", ["show-hooks", "-g"]),
    ("environment", ["show-environment", "-g"]),
    ("keys", ["list-keys"]),
    ("buffers", ["list-buffers"]),
    ("clients", ["list-clients"]),
)  # fmt: skip


class Person:
    """A home directory and the variables that make a program believe in it. The real home stays out of it."""

    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="ch-", dir="/tmp")
        Path(self.home, ".gitconfig").write_text(_GIT)
        Path(self.home, ".tmux.conf").write_text(_TMUX)
        os.mkdir(self.tmux_tmpdir, 0o700)

    @property
    def tmux_tmpdir(self) -> str:
        return os.path.join(self.home, "t")

    def environment(self, base: dict[str, str]) -> dict[str, str]:
        """`base` without what leads to the real person's git, tmux and Corral, or tells of another terminal's size."""
        others = ("CORRAL_", "GIT_", "TMUX", "XDG_", "COLUMNS", "LINES", "PYTEST_")
        kept = {name: value for name, value in base.items() if not name.startswith(others)}
        return {
            "TERM": "xterm-256color",
            **kept,
            "HOME": self.home,
            "TMUX_TMPDIR": self.tmux_tmpdir,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def close(self) -> None:
        """Remove the home."""
        remove_tree(self.home)


class OwnTmux:
    """The person's own tmux server, on the default socket. `changes` says what became of it since it was started."""

    def __init__(self, person: Person) -> None:
        self._env = person.environment(dict(os.environ))
        self._socket = os.path.join(person.tmux_tmpdir, f"tmux-{os.getuid()}", "default")
        pane = ["sh", "-c", "printf 'my own work\\n'; tmux wait-for -S drawn; exec cat"]
        for name in ("mine", "shop"):
            self._tmux(["new-session", "-d", "-s", name, "-x", "80", "-y", "24", *pane, ";", "wait-for", "drawn"])
        self._start = self._look()

    def changes(self) -> list[str]:
        """What is not as it was, one line each."""
        now = self._look()
        return [
            f"{what}: was {before!r}, is {now.get(what)!r}"
            for what, before in self._start.items()
            if now.get(what) != before
        ]

    def close(self) -> None:
        """End the server; it is ours to end."""
        pid = int(self._start.get("pid") or 0)
        server = processes.process(pid) if pid else None
        if server:
            processes.kill(server)

    def _look(self) -> dict[str, str]:
        found = {"socket": self._socket_identity(), "pid": self._tmux(["display-message", "-p", "#{pid}"]).strip()}
        for what, question in _QUESTIONS:
            found[what] = self._tmux(question)
        everyone = processes.snapshot()
        below = processes.descendants(int(found["pid"] or 0), everyone) if found["pid"] else set()
        found["processes"] = " ".join(f"{everyone[pid].pid}/{everyone[pid].started}" for pid in sorted(below))
        return found

    def _socket_identity(self) -> str:
        try:
            info = os.stat(self._socket)
        except OSError as error:
            return f"gone: {error.strerror}"
        return f"inode {info.st_ino}, mode {stat.filemode(info.st_mode)}, uid {info.st_uid}"

    def _tmux(self, command: list[str]) -> str:
        # -N: to look must never start a second server.
        never_start = [] if command[0] == "new-session" else ["-N"]
        done = subprocess.run(
            ["tmux", *never_start, *command], env=self._env, capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout if done.returncode == 0 else f"tmux failed: {done.stderr.strip()}"
