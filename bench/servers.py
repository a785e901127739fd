"""Peers that are servers: started in directories of their own, on a socket or a port of their own, and ended by pid."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from bench.wire import connected

_START_SECONDS = 20.0


def installed(program: str) -> bool:
    """True if a peer can be measured."""
    return shutil.which(program) is not None


@contextmanager
def redis(directory: str, env: Mapping[str, str]) -> Iterator[str]:
    """A Redis that has written before it answers; its socket."""
    path = f"{directory}/redis.sock"
    durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
    argv = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", directory, *durable]
    with _running(argv, path, env):
        yield path


@contextmanager
def etcd(directory: str, env: Mapping[str, str]) -> Iterator[str]:
    """An etcd of one member; where it speaks HTTP."""
    client, peer = (f"127.0.0.1:{port}" for port in _free_ports())
    urls = [
        *("--listen-client-urls", f"http://{client}", "--advertise-client-urls", f"http://{client}"),
        *("--listen-peer-urls", f"http://{peer}", "--initial-advertise-peer-urls", f"http://{peer}"),
        *("--initial-cluster", f"default=http://{peer}"),
    ]
    with _running(["etcd", "--data-dir", f"{directory}/etcd", "--logger", "zap", *urls], client, env):
        yield client


@contextmanager
def _running(argv: Sequence[str], address: str, env: Mapping[str, str]) -> Iterator[None]:
    server = subprocess.Popen(argv, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(server, address)
        yield
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_for(server: subprocess.Popen[bytes], address: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            connected(address).close()
            return
        except OSError:
            if server.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"bench: {server.args!r} does not listen at {address}") from None
            time.sleep(0.05)


def _free_ports() -> list[int]:
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    try:
        return [int(one.getsockname()[1]) for one in listening]
    finally:
        for one in listening:
            one.close()
