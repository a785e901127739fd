"""Sessions with stubborn descendants on a plain tmux server, and what people end them with.

The descendants are `sleep` and nothing more, so that a thousand of them are cheap: what matters is how they are
attached. A third has left: in a session of its own, and its parent has ended, as with daemons and with what a tool's
shell puts into the background. A third ignores SIGHUP and SIGTERM. A third is plain.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec

from bench.commands import output, timed

KILL_SERVER = "tmux kill-server"
LIBTMUX_KILL = "libtmux, Server.kill"
BY_PARENT = "pgrep -P and kill"

#: What all of them, and the agent itself, are in the end.
PROGRAM = "sleep"
#: The number of descendants, and the number of the agent: with it the thirds are thirds of all.
_STUBBORN = """\
number=$2
while [ $number -lt $(($1 + $2)) ]; do
  case $((number % 3)) in
    0) (setsid sleep 1000 &) ;;
    1) (trap '' HUP TERM; exec sleep 1000) & ;;
    2) sleep 1000 & ;;
  esac
  number=$((number + 1))
done
exec sleep 1000
"""

_LIBTMUX_PROGRAM = """
import sys
import libtmux
libtmux.Server(socket_path=sys.argv[1]).kill()
"""

#: By the pid of the parent, level by level, below the panes of this one server. All panes at once: one look at the
#: processes for each level instead of one for each process, which would take many times as long.
_BY_PARENT_PROGRAM = """
panes=$(tmux -S "$1" list-panes -a -F '#{pane_pid}') || exit
below_panes() {
  level=$panes
  while level=$(pgrep -P "$(echo $level | tr ' ' ,)"); do echo $level; done
}
found=$(below_panes)
[ -z "$found" ] || kill -TERM $found
sleep "$2"
found=$(below_panes)
[ -z "$found" ] || kill -KILL $found
for session in $(tmux -S "$1" list-sessions -F '#{session_name}'); do
  tmux -S "$1" kill-session -t "=$session" || exit
done
"""
_SESSIONS_A_COMMAND = 50


def program(directory: str) -> str:
    """Write the program of an agent, and return its path."""
    path = os.path.join(directory, "stubborn")
    with open(path, "w", encoding="utf-8") as file:
        file.write(_STUBBORN)
    return path


def commands(path: str, agents: int, descendants: int) -> list[list[str]]:
    """What each agent runs."""
    return [["sh", path, str(descendants), str(number)] for number in range(agents)]


class Sessions:
    """A private tmux server with one session a command."""

    def __init__(self, directory: str, socket_directory: str, env: Mapping[str, str]) -> None:
        self._directory = directory
        self._socket = os.path.join(socket_directory, "peer")
        self._env = env

    def start(self, programs: Sequence[Sequence[str]], env: Mapping[str, str]) -> int:
        """Start them with these variables on top; the pid of the server."""
        for first in range(0, len(programs), _SESSIONS_A_COMMAND):
            # tmux takes 16 KiB in one command.
            words = [
                word
                for number, argv in enumerate(programs[first : first + _SESSIONS_A_COMMAND], first)
                for word in ("new", "-d", "-s", f"a-{number}", *argv, ";")
            ]
            tmux = ["tmux", "-f", "/dev/null", "-S", self._socket]
            timed([*tmux, *words[:-1]], {**self._env, **env}, self._directory)
        return int(output(["tmux", "-S", self._socket, "display-message", "-p", "#{pid}"], self._env))

    def endings(self, grace: float) -> dict[str, Callable[[], float]]:
        """The ways to end it that can be had here, each with the seconds that it took."""
        found = {KILL_SERVER: ["tmux", "-S", self._socket, "kill-server"]}
        if find_spec("libtmux") is not None:
            found[LIBTMUX_KILL] = [sys.executable, "-c", _LIBTMUX_PROGRAM, self._socket]
        if shutil.which("pgrep") is not None:
            found[BY_PARENT] = ["/bin/sh", "-c", _BY_PARENT_PROGRAM, "sh", self._socket, f"{grace:g}"]
        return {name: self._timed(argv) for name, argv in found.items()}

    def _timed(self, argv: Sequence[str]) -> Callable[[], float]:
        return lambda: timed(argv, self._env, self._directory)
