"""Where the process at the other end of a connection is. See `ports.peers`.

A pid is a process's own only while that runs. Where the kernel has them (Linux 6.5), a descriptor of the process that
connected (`SO_PEERPIDFD`) tells after each look whether it was still running; elsewhere its start time has to do.
"""

from __future__ import annotations

import errno
import os
import select
import socket

from corral.adapters.cgroup.askers import lineage_of
from corral.adapters.cgroup.tree import unified_name_of
from corral.adapters.procfs import processes as proc
from corral.ports.dialogs import Peer

#: Not in Python's `socket` yet. The number is the same wherever SO_PEERCRED is 17; PA-RISC and SPARC have others.
_SO_PEERPIDFD = 77
#: What a kernel says that does not know it.
_NOT_KNOWN = frozenset((errno.ENOPROTOOPT, errno.EOPNOTSUPP))
_TICKS = os.sysconf("SC_CLK_TCK")
#: So often a lineage is looked at that is another one at every look.
_ATTEMPTS = 5


class KernelPeers:
    """See `ports.peers.Peers`."""

    def cgroup(self, connection: socket.socket, peer: Peer) -> str | None:
        """See `Peers.cgroup`."""
        if not peer.pid:
            return None  # in a pid namespace that is not below ours
        found = unified_name_of(peer.pid)
        return found if found is not None and _still_runs(connection, peer) else None

    def lineage(self, connection: socket.socket, peer: Peer) -> list[str] | None:
        """See `Peers.lineage`."""
        if not peer.pid:
            return None
        found = _cgroups_above(peer)
        return found if found and _still_runs(connection, peer) else None


def _cgroups_above(peer: Peer) -> list[str]:
    """The cgroups of the process and of what it descends from, all at one time. None at all in case of doubt.

    What is above it may end while it is looked at, and the pid be given to somebody who logs in: then nothing that was
    read counts. What it started has another parent by then, and is looked at anew.
    """
    for _ in range(_ATTEMPTS):
        above = lineage_of(peer.pid, peer.seen)
        found = [unified_name_of(process.pid) for process in above]
        still = lineage_of(peer.pid, peer.seen)
        if [process.key for process in still] == [process.key for process in above] and None not in found:
            return [name for name in found if name is not None]
    return []


def _still_runs(connection: socket.socket, peer: Peer) -> bool:
    """True if the process that connected has its pid still, and so had it at every look before."""
    try:
        descriptor = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        if error.errno not in _NOT_KNOWN:
            return False  # it is gone
        process = proc.read(peer.pid)
        return process is not None and process.state not in proc.ENDED_STATES and process.start / _TICKS <= peer.seen
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        return not waiting.poll(0)
    finally:
        os.close(descriptor)
