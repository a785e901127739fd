"""Where the process at the other end of a connection is: that very one, or nothing is said."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from corral.adapters.cgroup import peers
from corral.adapters.cgroup.askers import lineage_of
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

#: Has a child with a certain pid (clone3, set_tid), which says that it is there and waits to be told to end.
_GET_PID = """
import ctypes, os, signal, struct, sys
wanted = ctypes.c_int(int(sys.argv[1]))
order = struct.pack("<10Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1)
pid = ctypes.CDLL(None, use_errno=True).syscall(435, order, len(order))
if pid == 0:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
assert pid == wanted.value, os.strerror(ctypes.get_errno())
os.waitpid(pid, 0)
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


def test_nor_one_that_the_kernel_gave_the_very_pid(own_directory: Path, way: str) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can have a process get a pid of its choice")
    with connected(own_directory, "leave") as (connection, peer, process):
        process.wait(30)
        with subprocess.Popen(
            [sys.executable, "-c", _GET_PID, str(peer.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == f"{peer.pid}\n"
            assert unified_name_of(peer.pid) == unified_name_of(os.getpid()), "it is there to be mistaken for"
            assert KernelPeers().cgroup(connection, peer) is None
            assert KernelPeers().lineage(connection, peer) is None
            assert other.stdin is not None
            other.stdin.close()


def test_a_lineage_that_changes_while_it_is_looked_at_is_looked_at_anew(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connected(own_directory) as (connection, peer, _):
        own, *above = lineage_of(peer.pid, peer.seen)
        # Its parent ended, and somebody who began later has the pid.
        another = replace(above[0], start=above[0].start + 1)
        looks = [[own, *above], [own, another], [own, *above], [own, *above]]
        monkeypatch.setattr(peers, "lineage_of", lambda _pid, _seen: looks.pop(0))
        lineage = KernelPeers().lineage(connection, peer)
        assert lineage is not None
        assert (len(lineage), looks) == (len(above) + 1, [])
        # And of one that never stands still nothing is told.
        starts = count(1)
        monkeypatch.setattr(peers, "lineage_of", lambda _pid, _seen: [own, replace(another, start=next(starts))])
        assert KernelPeers().lineage(connection, peer) is None


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
