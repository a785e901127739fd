"""What the daemon of a shared server does otherwise than that of one person: whom it lets in, what it tells keepers."""

from __future__ import annotations

import grp
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from corral.domain.acl import ACCESS, acl
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.listening import listen
from corral.places import Places


@dataclass(frozen=True)
class Door:
    """The socket of a shared server's daemon: for its members and for users of agents, each by their number.

    A group would count for whoever logs in from then on, and for whoever was taken out of it until they log out.
    """

    #: The group that members are in.
    group: str

    def listen(self, path: str, uids: Iterable[int]) -> socket.socket:
        """A listening socket, for these users besides ourselves."""
        listening = listen(path)
        self.admit(path, uids)
        return listening

    def admit(self, path: str, uids: Iterable[int]) -> None:
        """Have these users be those who can connect, from now on. CorralError if that cannot be."""
        try:
            os.setxattr(path, ACCESS, acl(6, 0, users=[(uid, 6) for uid in uids]))
        except OSError as error:
            raise CorralError(
                f"{path} could not be given to who may connect now: {error.strerror}",
                "sudo systemctl restart corral.service gives it to the members that there are",
            ) from error


def shared_door(group: str) -> Door:
    """For members who are in `group`. Root is refused: the daemon of many people must not be able to do everything."""
    if os.geteuid() == 0:
        raise RefusedError(
            "the daemon of a shared server does not run as root", "systemctl start corral.service runs it as corral"
        )
    try:
        grp.getgrnam(group)
    except KeyError:
        raise NotFoundError(f"there is no group {group} on this host", "sudo corral host setup makes it") from None
    return Door(group)


def tell_keepers(places: Places, instance: str) -> None:
    """Write down for the units of keepers which instance they are of: everybody may read it, only we can write it."""
    new = f"{places.keeper_settings}.{os.getpid()}"
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "w", encoding="ascii") as file:
        file.write(f"CORRAL_INSTANCE={instance}\n")
        os.fchmod(handle, 0o644)
    os.rename(new, places.keeper_settings)
