"""Where the process at the other end of a connection is, as the kernel says."""

from __future__ import annotations

import socket
from typing import Protocol

from corral.ports.dialogs import Peer


class Peers(Protocol):
    """Looks at processes that have connected. What it says is of the very process that did, or it says nothing."""

    def cgroup(self, connection: socket.socket, peer: Peer) -> str | None:
        """The cgroup of the process; None if it has ended, or cannot be seen from here."""

    def lineage(self, connection: socket.socket, peer: Peer) -> list[str] | None:
        """The cgroups of the process, of its parent, and so on up; None as above."""
