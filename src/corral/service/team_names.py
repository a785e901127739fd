"""Whose a team's name is, on a shared server: of whoever first had a team of that name up.

Tasks, values, messages and topics are kept by the name of their team, and outlive it. Whoever could bring up a team of
the same name would find those of somebody else in it.
"""

from __future__ import annotations

from corral.domain.errors import RefusedError
from corral.domain.records import Who
from corral.ports.store import Change, Item
from corral.service.context import Context

_KIND = "team name"


class TeamNames:
    """Names, and their owners. The caller holds the team's lock."""

    def __init__(self, context: Context) -> None:
        self._store = context.store
        self._now = context.now

    async def owner(self, team: str) -> str:
        """The user whose name it is; empty if it is nobody's."""
        found = {item.key: item.value for item in await self._store.items(_KIND)}
        return found.get(team, b"").decode()

    async def must_be_of(self, team: str, user: str) -> None:
        """Raises `RefusedError` if the name is somebody else's."""
        owner = await self.owner(team)
        if owner not in ("", user):
            raise RefusedError(
                f"the name {team} is {owner}'s, with the tasks, values and messages of that team",
                "give this team another name: name = … below [team]",
                holder=owner,
            )

    async def take(self, who: Who, team: str, user: str) -> None:
        """Have the name be this user's from now on. It is nobody else's."""
        if await self.owner(team) != user:
            item = Item(_KIND, team, user.encode())
            await self._store.commit(Change(who=who, time=self._now(), put_items=[item]))
