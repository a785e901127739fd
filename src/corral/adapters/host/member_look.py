"""Seeing one account of this host, as far as membership is about it. Only looks."""

from __future__ import annotations

import grp
import os
import pwd

from corral.adapters.host.accounts import name_of
from corral.domain.host_names import AGENTS, KEEPERS, LINGER_NOTES, MEMBERS
from corral.domain.member_plan import AccountSeen

_LINGERING = "/var/lib/systemd/linger"


def look(user: str) -> AccountSeen:
    """The account, or what is left of one that was deleted. The name must be one that an account can have."""
    noted = os.path.lexists(os.path.join(LINGER_NOTES, user))
    groups = {group.gr_name: group.gr_gid for group in grp.getgrall() if group.gr_name in (MEMBERS, AGENTS)}
    listed = {name for name in groups if user in grp.getgrnam(name).gr_mem}
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        # Its group stays if somebody else is in it.
        return AccountSeen(user=user, groups=frozenset(listed), noted=noted, users=_listed(user))
    # What is done by name is done to whom the number means: of two names of an account, only that one.
    meant = name_of(account.pw_uid) == user
    own_name = _group_name(account.pw_gid)
    own = [name for name, gid in groups.items() if gid == account.pw_gid]
    is_in = {*listed, *own}
    return AccountSeen(
        user=user,
        uid=account.pw_uid,
        groups=frozenset(is_in),
        own_group=own_name,
        users=_listed(user) if own_name == user else frozenset(),
        lingers=os.path.lexists(os.path.join(_LINGERING, user)),
        noted=noted and meant,
        has_keeper=meant and os.path.exists(f"{KEEPERS}/{account.pw_uid}/keeper.sock"),
    )


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _listed(group: str) -> frozenset[str]:
    """Who is listed in a group, if there is one of that name."""
    try:
        return frozenset(grp.getgrnam(group).gr_mem)
    except KeyError:
        return frozenset()
