"""Starting the host of a team's processes, so that it outlives whoever starts it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.ending import wait_gone
from corral.adapters.subprocess.host_protocol import HOST_NAME
from corral.background import reap_when_it_ends
from corral.domain.environment import HOST_VARIABLE
from corral.domain.errors import UnavailableError

#: It has to find again what an earlier one left.
_READY_SECONDS = 20.0
#: How long one that was killed may take to be gone.
_KILLED_SECONDS = 5.0
#: See `host_main`.
_READY = b"ready"
#: What the host itself needs. Processes get theirs with their order, so no secret is in it.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ")


async def start_host(socket_path: str, directory: str, markers: Iterable[bytes]) -> None:
    """Start it and return when it listens. Raises `UnavailableError` if it does not, with what it said."""
    ready, theirs = os.pipe()
    try:
        try:
            host = _started(socket_path, directory, markers, theirs)
        finally:
            os.close(theirs)
        said = await _said(host, ready)
    finally:
        os.close(ready)
    if said != _READY:
        raise _not_started(said.decode("utf-8", "replace") or f"{directory}/host.log may tell why")


def _started(socket_path: str, directory: str, markers: Iterable[bytes], ready: int) -> subprocess.Popen[bytes]:
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with open(f"{directory}/host.log", "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", host_program(), socket_path, directory, str(ready)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=[ready],
                start_new_session=True,
                cwd="/",
                env=_environment(markers),
            )
    except OSError as error:
        raise _not_started(f"{error.filename or sys.executable}: {error.strerror or error}") from error


def _not_started(why: str) -> UnavailableError:
    return UnavailableError(f"the host of the team's processes could not be started: {why}", "try again")


def host_program() -> str:
    """The file that is executed."""
    return str(files("corral.adapters.subprocess") / "host.py")


def call_hidden_host(socket_path: str, markers: Sequence[bytes]) -> proc.Process | None:
    """Have a host listen again whose socket is gone, as when a runtime directory is cleared. None if there is none."""
    return next((host for host in _hosts(socket_path, markers) if proc.send_signal(host, signal.SIGUSR1)), None)


async def kill_host(socket_path: str, markers: Sequence[bytes]) -> bool:
    """Kill a host that does not answer, and return when it is gone; false if there is none, or it does not go."""
    hosts = _hosts(socket_path, markers)
    for host in hosts:
        proc.send_signal(host, signal.SIGKILL)
    return bool(hosts) and await wait_gone(hosts, _KILLED_SECONDS)


def _hosts(socket_path: str, markers: Sequence[bytes]) -> list[proc.Process]:
    """The hosts that were started for this socket, whether or not they can be reached."""
    return [
        host
        for host in proc.marked(proc.named(HOST_NAME), markers)
        # A child that is about to become its program looks like its host, but for the session.
        if host.session == host.pid and os.fsencode(socket_path) in proc.argument_vector(host.pid)
    ]


def _environment(markers: Iterable[bytes]) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment.setdefault("PATH", os.defpath)
    for marker in (*markers, f"{HOST_VARIABLE}=1".encode()):
        name, _, value = marker.decode().partition("=")
        environment[name] = value
    return environment


async def _said(host: subprocess.Popen[bytes], descriptor: int) -> bytes:
    """What it says before it closes its end of the pipe. If that is not that it is ready, it is ended."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    said = b""
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while True:
                await readable.wait()
                readable.clear()
                part = os.read(descriptor, 1 << 12)
                if not part:
                    break
                said += part
    except TimeoutError:
        said = b""
    finally:
        loop.remove_reader(descriptor)
        if said == _READY:
            reap_when_it_ends(host)
        else:
            host.kill()
            host.wait()
    return said
