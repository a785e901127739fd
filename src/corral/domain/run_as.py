"""Who may have agents run by which OS user (`run_as`). Pure.

An administrator says so with groups, which nobody can join by themselves: the agent's user is in `corral-agents` and
has a group of its own, of the same name; whoever is in that group may use the user. Nobody's log-in can be used so.
Besides, the record of members says whose it is, and what runs as it is that person's: nobody else starts any.
"""

from __future__ import annotations

from collections.abc import Collection

from corral.domain.errors import RefusedError
from corral.domain.host_names import AGENTS, MEMBERS
from corral.domain.members import is_of_the_system


def check_whose(agent: str, person: str, user: str, whose: str) -> None:
    """Raise `RefusedError` if an agent of `person` would be somebody else's, run by `user`, who belongs to `whose`."""
    if whose not in ("", user, person):
        raise RefusedError(
            f"{agent}: {user} belongs to {whose}, and so does all that runs as it",
            f"name a user of agents of {person}: sudo corral member add NAME --role agent --of {person} makes one",
        )


def check(
    agent: str,
    owner: str,
    owners_groups: Collection[str],
    user: str,
    own_group: str,
    groups: Collection[str],
    uid: int | None,
) -> None:
    """Raise `RefusedError` if an agent of `owner` may not be run by `user`, whose groups and number these are.

    The number is None, and there are no groups, if there is no such user.
    """
    if user == owner:
        return
    if uid is not None and is_of_the_system(uid):
        raise RefusedError(
            f"{agent}: {user} (uid {uid}) is an account of the system, and nobody has agents run by it",
            f"leave run_as out, or name a user for agents: {_member_add('NAME', owner)} makes one",
        )
    if not groups:
        raise RefusedError(
            f"{agent}: there is no user {user} on this host",
            f"sudo useradd --create-home {user}, then {_member_add(user, owner)}",
        )
    if MEMBERS in groups:
        raise RefusedError(
            f"{agent}: {user} is a person's log-in: nobody else has agents run by it",
            "leave run_as out, or name a user that is for agents alone",
        )
    if AGENTS not in groups:
        raise RefusedError(
            f"{agent}: {user} is not a user for agents",
            f"an administrator makes it one of {owner}: {_member_add(user, owner)}",
        )
    if own_group != user:
        raise RefusedError(
            f"{agent}: the first group of {user} is {own_group or 'unknown'}: who may use it cannot be told",
            f"it needs a group of its own: sudo groupadd {user} && sudo usermod -g {user} {user}; "
            f"then {_member_add(user, owner)}",
        )
    if user not in owners_groups:
        raise RefusedError(
            f"{agent}: {owner} may not have agents run by {user}",
            f"an administrator makes it one of {owner}: {_member_add(user, owner)}; if it is to stay somebody else's, "
            f"{owner} needs one of their own",
        )


def _member_add(user: str, owner: str) -> str:
    return f"sudo corral member add {user} --role agent --of {owner}"
