"""Whose a team's name is, on a shared server: of whoever first had a team of that name up.

Tasks, values, messages and topics are kept by the name of their team, and outlive it. Whoever could bring up a team of
the same name would find those of somebody else in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.errors import RefusedError
from corral.ports.store import Item, Store

_KIND = "team name"


def taken(team: str, user: str) -> Sequence[Item]:
    """What is to be put into the store, with the team, so that its name is this user's; nothing for one person's."""
    return (Item(_KIND, team, user.encode()),) if user else ()


async def owner_of(store: Store, team: str) -> str:
    """The user whose name it is; empty if it is nobody's."""
    found = {item.key: item.value for item in await store.items(_KIND)}
    return found.get(team, b"").decode()


async def is_anothers(store: Store, team: str, user: str) -> bool:
    """Whether the name is somebody else's than this user's. The caller holds the team's lock."""
    return await owner_of(store, team) not in ("", user)


async def must_be_of(store: Store, team: str, user: str) -> None:
    """Raises `RefusedError` if the name is somebody else's. The caller holds the team's lock."""
    owner = await owner_of(store, team)
    if owner not in ("", user):
        raise RefusedError(
            f"the name {team} is {owner}'s, with the tasks, values and messages of that team",
            "give this team another name: name = … below [team]",
            holder=owner,
        )
