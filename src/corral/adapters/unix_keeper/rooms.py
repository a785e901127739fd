"""Directories for worktrees on a shared server: made by the privileged helper, because their place is root's."""

from __future__ import annotations

import asyncio
import grp
import os
import pwd

import msgspec

from corral.adapters.unix_keeper.helper import Helper
from corral.domain.errors import CorralError, RefusedError
from corral.domain.group_access import GroupAccess
from corral.domain.host_names import SETTINGS


class HostRooms:
    """See `ports.rooms.Rooms`."""

    def __init__(self, helper: Helper, settings: str = SETTINGS) -> None:
        self._helper = helper
        self._settings = settings

    def worktree(self, user: str, team: str, agent: str) -> str:
        return os.path.join(_root(self._settings), user, team, agent)

    async def make(self, user: str, team: str, agent: str, access: GroupAccess) -> None:
        group = access.group or await asyncio.to_thread(_own_group, user)
        await self._helper.ask("workspace", user, path=f"{team}/{agent}", group=group, mode=f"{access.mode:04o}")


def _root(path: str) -> str:
    """Where root said that workspaces are."""
    try:
        with open(path, "rb") as file:
            root = msgspec.json.decode(file.read(), type=dict[str, str])["workspaces"]
    except (OSError, KeyError, msgspec.DecodeError) as error:
        raise CorralError(f"{path} does not say where workspaces are: {error}", "sudo corral host setup") from error
    return root


def _own_group(user: str) -> str:
    try:
        return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
    except KeyError:
        raise RefusedError(f"{user} has no group of their own on this host", "see getent passwd and group") from None
