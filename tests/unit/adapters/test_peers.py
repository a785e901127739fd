"""Where the process at the other end of a connection is: that very one, or nothing is said."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup import peers
from corral.adapters.cgroup.peers import KernelPeers
from corral.adapters.cgroup.tree import unified_name_of
from corral.peer import peer_of
from corral.ports.dialogs import Peer

#: Connects, and says so by that. `leave` has a child keep the connection, and ends.
_CONNECT = """
import os, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
if "leave" in sys.argv and os.fork():
    os._exit(0)
connection.recv(1)
"""


@pytest.fixture(params=["by descriptor", "by start time"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """As the kernels that there are can tell."""
    if request.param == "by start time":
        monkeypatch.setattr(peers, "_SO_PEERPIDFD", 9999)  # as every kernel sees it that does not know the option
    return str(request.param)


@contextlib.contextmanager
def connected(directory: Path, *words: str) -> Iterator[tuple[socket.socket, Peer, "subprocess.Popen[bytes]"]]:
    """Somebody who has connected."""
    path = str(directory / "s")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        process = subprocess.Popen([sys.executable, "-c", _CONNECT, path, *words])
        connection, _ = listening.accept()
        try:
            with connection:
                pid, _ = peer_of(connection)
                yield connection, Peer(pid=pid, seen=time.clock_gettime(time.CLOCK_BOOTTIME)), process
        finally:
            process.wait(30)


def test_it_is_told_where_it_is_and_where_it_comes_from(own_directory: Path, way: str) -> None:
    with connected(own_directory) as (connection, peer, process):
        assert peer.pid == process.pid
        here = unified_name_of(os.getpid())
        assert KernelPeers().cgroup(connection, peer) == here
        lineage = KernelPeers().lineage(connection, peer)
        assert lineage is not None
        assert lineage[:2] == [here, here]


def test_of_one_that_has_ended_nothing_is_told(own_directory: Path, way: str) -> None:
    with connected(own_directory, "leave") as (connection, peer, process):
        process.wait(30)
        assert KernelPeers().cgroup(connection, peer) is None
        assert KernelPeers().lineage(connection, peer) is None


def test_another_process_with_its_pid_is_not_taken_for_it(own_directory: Path, way: str) -> None:
    """The test itself stands for whoever was given the pid of one that has ended."""
    with connected(own_directory, "leave") as (connection, peer, process):
        process.wait(30)
        # By descriptor it is known at once. By start time, this process is one that began after the connection.
        later = Peer(pid=os.getpid(), seen=peer.seen if way == "by descriptor" else 0.0)
        assert KernelPeers().cgroup(connection, later) is None
        assert KernelPeers().lineage(connection, later) is None


def test_of_one_that_cannot_be_seen_nothing_is_told(own_directory: Path) -> None:
    with connected(own_directory) as (connection, peer, _):
        hidden = Peer(pid=0, seen=peer.seen)
        assert KernelPeers().cgroup(connection, hidden) is None
        assert KernelPeers().lineage(connection, hidden) is None


def test_no_descriptor_is_left_open(own_directory: Path) -> None:
    with connected(own_directory) as (connection, peer, _):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            KernelPeers().cgroup(connection, peer)
        assert len(os.listdir("/proc/self/fd")) == before
