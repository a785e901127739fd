"""Is that our tmux server, and is it there? Answered without asking tmux, so that a hung one cannot lie to us."""

from __future__ import annotations

import contextlib
import os
import socket

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process
from corral.peer import peer_of
from corral.ports.runs import Presence

#: What leads a process to the bus, and by it to the systemd, of its user.
BUS_VARIABLES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
#: What a window of ours has in it that needs some program, such as the hub's. In two words: a single one would be run
#: by the person's shell.
NOTHING = ("cat", "-")


def server_behind(socket_path: str) -> tuple[Presence, Process | None]:
    """Who listens at the socket: the process if it can be told, and whether one is there at all."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.setblocking(False)
        try:
            probe.connect(socket_path)
        except (FileNotFoundError, ConnectionRefusedError):
            return "absent", None
        except BlockingIOError:
            return "unknown", None  # the backlog is full: somebody listens and does not accept
        except OSError:
            return "unknown", None
        pid, _ = peer_of(probe)
    process = proc.read(pid) if pid > 0 else None
    return "present", process


def hidden_servers(markers: list[bytes]) -> list[Process]:
    """tmux servers that carry our markers, whether or not their socket can still be reached.

    An agent may run a tmux of its own: that one has the marker of a run, and is the agent's business.
    """
    servers = proc.marked(proc.named(b"tmux: server"), markers)
    return [server for server in servers if not proc.is_of_a_run(server)]


def clean_environment(markers: list[bytes]) -> dict[str, str]:
    """The little that the server itself needs; agents get theirs from launch files, so no secret is in it."""
    kept = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", *BUS_VARIABLES)
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment.setdefault("PATH", os.defpath)
    environment["TERM"] = "dumb"
    for marker in markers:
        name, _, value = marker.decode().partition("=")
        environment[name] = value
    return environment
