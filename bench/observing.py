"""The echo of a key, for somebody who drives an agent's terminal through its keeper: alone, and before ten watchers.

Keys come in bursts, each when the echo of the one before has been seen, so that a burst takes longer than what is
gathered for the watchers waits: they are served within it. Between bursts it is quiet, so none has to do with another.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.instance import Instance, running
from bench.rounds import Ratio, Times, take_turns
from bench.sizes import Setting

ALONE, WATCHED = "a key and its echo, alone", "a key and its echo, 10 watchers"
_WATCHERS = 10
#: What cannot be told from nothing by measuring it so.
GOAL = 1.10
_KEYS = 100
_QUIET_SECONDS = 0.15
_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Observing:
    """The results; the times are of one key."""

    times: Times

    @property
    def ratios(self) -> list[Ratio]:
        return [self.times.ratio(WATCHED, ALONE, at_most=GOAL)]


class _Driver:
    """Somebody who types into an agent's terminal."""

    def __init__(self, runtime: str, agent: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_SECONDS)
        self._socket.connect(os.path.join(runtime, "daemon.sock"))
        query = f"agent={agent}&mode=drive&columns=120&rows=40&term=xterm-256color"
        head = f"POST /v1/sessions?{query} HTTP/1.1\r\nHost: corral\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._socket.sendall(head.encode())
        self._file = self._socket.makefile("rb")
        status = self._file.readline()
        if b" 200 " not in status:
            raise SystemExit(f"bench: {agent} cannot be joined: {status!r}")
        while self._file.readline() != b"\r\n":
            pass

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def burst(self) -> float:
        """The seconds of one key and its echo, over a burst of them."""
        self._type(b"\x15")  # the line is empty again
        time.sleep(_QUIET_SECONDS)
        self._drain()
        began = time.perf_counter()
        for number in range(_KEYS):
            letter = b"abcdefghij"[number % 10 : number % 10 + 1]
            self._type(letter)
            while letter not in self._shown():
                pass
        return (time.perf_counter() - began) / _KEYS

    def _type(self, keys: bytes) -> None:
        line = json.dumps({"keys": base64.b64encode(keys).decode()}).encode() + b"\n"
        self._socket.sendall(b"%x\r\n%s\r\n" % (len(line), line))

    def _shown(self) -> bytes:
        """The next output."""
        while True:
            size = int(self._file.readline(), 16)
            chunk = self._file.read(size + 2)[:size]
            output = b"".join(
                base64.b64decode(record["output"])
                for record in map(json.loads, chunk.splitlines())
                if "output" in record
            )
            if output:
                return output

    def _drain(self) -> None:
        """Forget what has been shown so far: a mark of our own is seen behind all of it."""
        self._type(b"~")
        while b"~" not in self._shown():
            pass


def measure(setting: Setting) -> Observing:
    """Measure both, in turns."""
    setting.note(f"the echo of a key, with {_WATCHERS} watchers and without")
    home, runtime = (os.path.join(place, "observing") for place in (setting.directory, setting.runtime))
    with running(setting.corral, home, runtime, setting.env) as corral:
        corral.declare_each([["cat"]] * 2, contained=True)
        corral.up()
        try:
            with _watched(corral, "a-1"), ExitStack() as stack:
                alone, watched = (_Driver(corral.runtime, agent) for agent in ("a-0", "a-1"))
                stack.callback(alone.close)
                stack.callback(watched.close)
                times = take_turns({ALONE: alone.burst, WATCHED: watched.burst}, setting.rounds * 3, lambda _: None)
        finally:
            corral.down()
    return Observing(times=times)


@contextmanager
def _watched(corral: Instance, agent: str) -> Iterator[None]:
    """Have people watch an agent, each with a command of their own."""
    argv = [corral.corral, "attach", "--observe", "--json", agent]
    watchers = [
        subprocess.Popen(argv, cwd=corral.directory, env=dict(corral.env), stdout=subprocess.PIPE)
        for _ in range(_WATCHERS)
    ]
    try:
        for watcher in watchers:
            assert watcher.stdout is not None
            watcher.stdout.readline()  # it is there
        drains = [subprocess.Popen(["cat"], stdin=watcher.stdout, stdout=subprocess.DEVNULL) for watcher in watchers]
        yield
    finally:
        for watcher in watchers:
            watcher.kill()
            watcher.wait()
            if watcher.stdout is not None:
                watcher.stdout.close()
        for drain in drains:
            drain.wait()
