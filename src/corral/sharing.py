"""What the daemon of a shared server does otherwise than that of one person: whom it lets in, what it tells keepers."""

from __future__ import annotations

import grp
import os
import socket
from dataclasses import dataclass

from corral.domain.acl import ACCESS, acl
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.host_names import AGENTS
from corral.listening import listen
from corral.places import Places


@dataclass(frozen=True)
class Door:
    """The socket of a shared server's daemon: for everybody in one group, and for the users of agents."""

    gid: int
    group: str
    #: The group of users that are for agents alone, if there is one.
    agents: int | None = None

    def listen(self, path: str) -> socket.socket:
        """A listening socket, 0660 and of the group."""
        listening = listen(path, mode=0o660, group=self.gid)
        if self.agents is not None:
            # They are nobody's log-in, and so in no group of people; but what they run has to say something, too.
            os.setxattr(path, ACCESS, acl(6, 6, groups=((self.agents, 6),)))
        return listening


def shared_door(group: str) -> Door:
    """For the members of `group`. Root is refused: the daemon of many people must not be able to do everything."""
    if os.geteuid() == 0:
        raise RefusedError(
            "the daemon of a shared server does not run as root", "systemctl start corral.service runs it as corral"
        )
    try:
        gid = grp.getgrnam(group).gr_gid
    except KeyError:
        raise NotFoundError(f"there is no group {group} on this host", "sudo corral host setup makes it") from None
    try:
        return Door(gid, group, grp.getgrnam(AGENTS).gr_gid)
    except KeyError:
        return Door(gid, group)


def tell_keepers(places: Places, instance: str) -> None:
    """Write down for the units of keepers which instance they are of: everybody may read it, only we can write it."""
    new = f"{places.keeper_settings}.{os.getpid()}"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "w", encoding="ascii") as file:
        file.write(f"CORRAL_INSTANCE={instance}\n")
        os.fchmod(handle, 0o644)
    os.rename(new, places.keeper_settings)
