"""The parts of a shared server on the disk: where the keeper of each user has its things."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass

from corral.adapters.doctor import scopes
from corral.domain import host_names
from corral.domain.errors import RefusedError
from corral.places import Places
from corral.ports.doctor import ScopeUnit


@dataclass(frozen=True, slots=True)
class Part:
    """What one user has of a shared server."""

    uid: int
    user: str
    places: Places
    #: Where the daemon reaches the user's keeper.
    keeper: str


def part_of(uid: int, keepers: str = host_names.KEEPERS) -> Part:
    """That of a user; KeyError if there is no such account."""
    account = pwd.getpwuid(uid)
    return Part(
        uid=uid,
        user=account.pw_name,
        places=Places(
            os.path.join(account.pw_dir, host_names.KEEPER_HOME),
            f"/run/user/{uid}/corral-host",
            worktrees=os.path.join(host_names.WORKSPACES, account.pw_name),
        ),
        keeper=os.path.join(keepers, str(uid), "keeper.sock"),
    )


def all_parts(keepers: str = host_names.KEEPERS) -> tuple[list[Part], list[str]]:
    """Those of everybody who ever had a keeper since the host was booted; and why some are not among them."""
    found: list[Part] = []
    unseen: list[str] = []
    try:
        names = sorted(os.listdir(keepers))
    except OSError as error:
        return [], [f"whose keepers there are cannot be told: {keepers}: {error.strerror}"]
    for name in names:
        try:
            found.append(part_of(int(name), keepers))
        except (KeyError, ValueError):
            unseen.append(f"{os.path.join(keepers, name)} is of no user of this host")
    return found, unseen


class SeenScopes:
    """The scopes of another user, as root sees them: by their cgroups, without the user's service manager.

    See `ports.doctor.UserUnits`. Nothing is stopped: that is the user's to do.
    """

    def __init__(self, uid: int) -> None:
        self._slice = f"user.slice/user-{uid}.slice"

    def list_scopes(self) -> Sequence[ScopeUnit]:
        """See `UserUnits.list_scopes`. A unit that is not active has no cgroup, and is not among them."""
        return [
            ScopeUnit(os.path.basename(group), active=True, control_group=group, description="")
            for group in scopes.groups_below(self._slice)
            if group.endswith(".scope")
        ]

    def stop(self, name: str) -> None:
        """See `UserUnits.stop`."""
        raise RefusedError(f"{name} is another user's", "have that user stop it")
