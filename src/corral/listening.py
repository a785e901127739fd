"""Listening on a unix socket, for daemon, keeper and host alike. On its own, because a host loads next to nothing."""

from __future__ import annotations

import contextlib
import os
import socket

#: Connections that may wait to be taken: more than would ever come at once, so that none is refused.
BACKLOG = 512


def listen(path: str, *, mode: int = 0o600) -> socket.socket:
    """A listening unix socket at `path`, ours alone unless said otherwise. The caller holds the lock, so whatever is
    there is a dead one's.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(path)
    finally:
        os.umask(before)
    if mode != 0o600:
        os.chmod(path, mode)
    listening.listen(BACKLOG)
    listening.setblocking(False)
    return listening
