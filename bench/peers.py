"""The peers: other ways to get a number of tmux sessions that each run `sleep 1000`.

Each is one command, timed as a whole and given what suits it best. All of them use a private server that does not
exist before, no configuration file, and names as short as can be.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from bench.commands import output, timed

BATCH_SHELL = "one tmux command, shell strings"
BATCH_ARGV = "one tmux command, argvs"
PROCESS_EACH = "one tmux process a session"
LIBTMUX = "libtmux"
TMUXP = "tmuxp"

_LIBTMUX_PROGRAM = """
import sys
import libtmux
path, count = sys.argv[1], int(sys.argv[2])
server = libtmux.Server(socket_path=path, config_file="/dev/null")
for number in range(1, count + 1):
    server.new_session(session_name=f"a-{number}", window_command="sleep 1000")
"""

_PROCESS_EACH_PROGRAM = """
number=1
while [ $number -le "$2" ]; do
  tmux -f /dev/null -S "$1" new-session -d -s "a-$number" 'sleep 1000' || exit
  number=$((number + 1))
done
"""

_TMUXP_WORKSPACE = """\
session_name: a-{number}
windows:
  - window_shell: sleep 1000
    panes: [null]
"""


class Peers:
    """The peers at one number of sessions, below a directory of their own."""

    def __init__(self, directory: str, socket_directory: str, env: Mapping[str, str], count: int) -> None:
        self._directory = directory
        self._socket = os.path.join(socket_directory, "peer")
        self._env = env
        self._count = count

    def floor(self) -> dict[str, Callable[[], float]]:
        """What nothing that starts sessions can be faster than: a single tmux command."""
        return {
            BATCH_SHELL: lambda: self._run(self._batched("sleep 1000")),
            BATCH_ARGV: lambda: self._run(self._batched("sleep", "1000")),
        }

    def others(self) -> dict[str, Callable[[], float]]:
        """Those that are installed of the rest."""
        found: dict[str, Callable[[], float]] = {PROCESS_EACH: lambda: self._run(self._process_each())}
        if find_spec("libtmux") is not None:
            found[LIBTMUX] = lambda: self._run(self._libtmux())
        if find_spec("tmuxp") is not None:
            files = self._tmuxp_files()
            found[TMUXP] = lambda: self._run(self._tmuxp(files))
        return found

    def _batched(self, *program: str) -> list[str]:
        # `new` and not `new-session`: tmux takes 16 KiB in one command, and 500 sessions must fit.
        words = [word for number in self._numbers() for word in ("new", "-d", "-s", f"a-{number}", *program, ";")]
        return ["tmux", "-f", "/dev/null", "-S", self._socket, *words[:-1]]

    def _process_each(self) -> list[str]:
        return ["/bin/sh", "-c", _PROCESS_EACH_PROGRAM, "sh", self._socket, str(self._count)]

    def _libtmux(self) -> list[str]:
        return [sys.executable, "-c", _LIBTMUX_PROGRAM, self._socket, str(self._count)]

    def _tmuxp(self, files: list[str]) -> list[str]:
        # `python -m` instead of the script beside it, which need not be there.
        start = [sys.executable, "-c", "from tmuxp.cli import cli; cli()"]
        return [*start, "load", "-d", "-y", "--no-progress", "-f", "/dev/null", "-S", self._socket, *files]

    def _tmuxp_files(self) -> list[str]:
        files = []
        for number in self._numbers():
            path = os.path.join(self._directory, f"a-{number}.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(_TMUXP_WORKSPACE.format(number=number))
            files.append(path)
        return files

    def _numbers(self) -> range:
        return range(1, self._count + 1)

    def _run(self, argv: list[str]) -> float:
        seconds = timed(argv, self._env, self._directory)
        self._check_and_end()
        return seconds

    def _check_and_end(self) -> None:
        """Nobody is fast by doing less: count the sessions, then end the server and wait until it is gone."""
        tmux = ["tmux", "-S", self._socket]
        panes = output([*tmux, "list-panes", "-a", "-F", "#{pid} #{pane_dead}"], self._env).splitlines()
        living = [line for line in panes if line.endswith(" 0")]
        server = os.pidfd_open(int(panes[0].split()[0]))
        try:
            subprocess.run([*tmux, "kill-server"], env=self._env, check=True)
            select.select([server], [], [], 30)
        finally:
            os.close(server)
        if len(living) != self._count:
            raise SystemExit(f"bench: there were {len(living)} living panes instead of {self._count}")
        rest()


def rest() -> None:
    """Let the machine finish with what has just ended, so that it is not charged to whoever is next."""
    time.sleep(0.3)
