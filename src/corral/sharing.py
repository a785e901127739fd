"""What the daemon of a shared server does otherwise than that of one person: whom it lets in, what it tells keepers."""

from __future__ import annotations

import grp
import os
import socket
from dataclasses import dataclass

from corral.domain.errors import NotFoundError, RefusedError
from corral.listening import listen
from corral.places import Places


@dataclass(frozen=True)
class Door:
    """The socket of a shared server's daemon: for everybody in one group."""

    gid: int
    group: str = ""

    def listen(self, path: str) -> socket.socket:
        """A listening socket, 0660 and of the group."""
        return listen(path, mode=0o660, group=self.gid)


def shared_door(group: str) -> Door:
    """For the members of `group`. Root is refused: the daemon of many people must not be able to do everything."""
    if os.geteuid() == 0:
        raise RefusedError(
            "the daemon of a shared server does not run as root", "systemctl start corral.service runs it as corral"
        )
    try:
        return Door(grp.getgrnam(group).gr_gid, group)
    except KeyError:
        raise NotFoundError(f"there is no group {group} on this host", "sudo corral host setup makes it") from None


def tell_keepers(places: Places, instance: str) -> None:
    """Write down for the units of keepers which instance they are of: everybody may read it, only we can write it."""
    new = f"{places.keeper_settings}.{os.getpid()}"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "w", encoding="ascii") as file:
        file.write(f"CORRAL_INSTANCE={instance}\n")
        os.fchmod(handle, 0o644)
    os.rename(new, places.keeper_settings)
