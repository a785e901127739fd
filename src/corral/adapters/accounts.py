"""Accounts from the databases of this host, whatever they are: a file, LDAP. So they may take a while."""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd

from corral.ports.accounts import Account


async def account(name: str) -> Account | None:
    """See `ports.accounts.Accounts`."""
    return await asyncio.to_thread(_look, name)


def _look(name: str) -> Account | None:
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    groups: dict[int, str] = {}
    for gid in os.getgrouplist(found.pw_name, found.pw_gid):
        with contextlib.suppress(KeyError):  # a number without a name: nothing is declared by it
            groups[gid] = grp.getgrgid(gid).gr_name
    return Account(
        name=found.pw_name,
        uid=found.pw_uid,
        home=found.pw_dir,
        shell=found.pw_shell,
        own_group=groups.get(found.pw_gid, ""),
        groups=frozenset(groups.values()),
    )
