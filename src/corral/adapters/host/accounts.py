"""The accounts of this host, as the operating system has them now."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Mapping

from corral.domain.members import Account

_LINGERING = "/var/lib/systemd/linger"


class HostAccounts:
    """See `ports.member_accounts.Accounts`. Asks the system each time: who was let in a moment ago counts."""

    def __init__(self, standing_for: Mapping[str, str] | None = None) -> None:
        """A daemon can be told another group for its members: `standing_for` has what that one counts as."""
        self._standing_for = standing_for or {}

    def find(self, user: str) -> Account | None:
        """See `Accounts.find`."""
        try:
            account = pwd.getpwnam(user)
        except (KeyError, ValueError):  # a name with a NUL in it is nobody's either
            return None
        return Account(
            user=account.pw_name,
            uid=account.pw_uid,
            groups=frozenset(self._standing_for.get(name, name) for name in _groups(account)),
            lingers=os.path.lexists(os.path.join(_LINGERING, account.pw_name)),
            namesake="" if (meant := name_of(account.pw_uid)) == account.pw_name else meant,
        )


def name_of(uid: int) -> str:
    """Whom a number means: of several accounts that have it, the one that is found by it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _groups(account: pwd.struct_passwd) -> set[str]:
    names = set()
    for gid in os.getgrouplist(account.pw_name, account.pw_gid):
        try:
            names.add(grp.getgrgid(gid).gr_name)
        except KeyError:
            continue  # a group without a name is none of ours
    return names
