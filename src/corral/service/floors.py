"""All worktrees of a team, each with the keeper that has it: of every user that runs agents of the team, and of those
that did and have something left of it.

On a shared server worktrees that are kept outlive their team, in the rooms of several users. In whose is written down
with the end of the team, for the next `corral down` of that name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from corral.domain.copies import copy_beside
from corral.domain.errors import CorralError
from corral.domain.records import Agent
from corral.ports.census import Bystander
from corral.ports.keeper import Keeper
from corral.ports.store import Item
from corral.ports.workspace import WorkspaceRemoval
from corral.service import worktrees
from corral.service.context import Context

_KIND = "left worktrees"
_encode = msgspec.json.Encoder().encode


async def others_with(context: Context, team: str, owner: str) -> list[str]:
    """The users besides its owner who had something left of a team when it was taken down last.

    Nobody in the instance of one person, where all is in one place.
    """
    if not context.supervisor.keepers.shared:
        return []
    items = {item.key: item.value for item in await context.store.items(_KIND)}
    return msgspec.json.decode(items.get(_key(team, owner), b"[]"), type=list[str])


def noted(team: str, owner: str, users: Iterable[str]) -> tuple[Sequence[Item], Sequence[tuple[str, str]]]:
    """What is to be put into the store, and what is to be dropped, so that `others_with` has these."""
    key, others = _key(team, owner), sorted(users)
    return ((Item(_KIND, key, _encode(others)),), ()) if others else ((), ((_KIND, key),))


def _key(team: str, owner: str) -> str:
    # By owner as well: rooms are looked into for whoever left something there, and for nobody else.
    return f"{team}/{owner}"


@dataclass(frozen=True, slots=True)
class Floors:
    """The rooms of users in which worktrees of a team are looked for."""

    team: str
    #: By user, the team's own first.
    keepers: Mapping[str, Keeper]
    #: Rooms that could not be looked into, each with why: nobody knows what is there.
    unseen: Mapping[str, WorkspaceRemoval] = field(default_factory=dict)

    @classmethod
    async def of(cls, context: Context, team: str, before: Iterable[str] = ()) -> Floors:
        """`before` are users who are not the team's any more. One of these that cannot be had is told of, and keeps
        nobody from dealing with the others.
        """
        links = context.supervisor.keepers
        keepers = {user: await link.open() for user, link in links.parts(team)}
        unseen: dict[str, WorkspaceRemoval] = {}
        for user in before:
            try:
                keepers[user] = await links.of_user(user).open()
            except CorralError as error:
                assert context.rooms is not None  # there are several users
                room = os.path.dirname(context.rooms.worktree(user, team, "any"))
                why = f"nobody could look whether there is work in it: {error.message}"
                unseen[user] = WorkspaceRemoval(path=room, removed=False, why=why)
        return cls(team, keepers, unseen)

    async def look(self) -> dict[str, dict[str, WorkspaceRemoval]]:
        """By user and path, what there is."""
        return {
            user: {one.path: one for one in await keeper.inspect_workspaces(self.team)}
            for user, keeper in self.keepers.items()
        }

    async def bystanders(self, paths: Iterable[str], caller: int) -> list[Bystander]:
        """Who else lives in one of these. Each keeper sees its own user's best."""
        where = sorted(paths)
        found = [await keeper.bystanders(self.team, where, caller) for keeper in self.keepers.values()]
        return list({one.pid: one for seen in found for one in seen}.values())

    async def whose(self, agents: Iterable[Agent], context: Context) -> dict[str, str]:
        """By path, the user whose keeper has it: also of those whose agents left the file, or were removed."""
        links, found = context.supervisor.keepers, dict[str, str]()
        by_link = {id(link): user for user, link in links.parts(self.team)}
        for agent in agents:
            if agent.workspace_kind == "worktree":
                found[agent.workspace] = by_link[id(links.of_agent(agent))]
        for user, seen in (await self.look()).items():
            for path in seen:
                # What a keeper says of the room of another changes nothing.
                found.setdefault(path, user)
        return found

    async def clear(
        self,
        context: Context,
        whose: Mapping[str, str],
        repo: str | None,
        bystanders: Sequence[Bystander],
        *,
        discard: bool,
    ) -> Cleared:
        """Take them away as far as nothing is lost by it, or all of them if `discard` says so."""
        occupied = {} if discard else worktrees.occupants(bystanders)
        own = next(iter(self.keepers))
        # A copy goes when no worktree is of it any more.
        copies = {
            copy_beside(path): user
            for path, user in whose.items()
            if user != own and _in_room(context, self.team, user, path)
        }
        whose = {path: user for path, user in whose.items() if path not in copies}
        removed = [
            await worktrees.take_away(
                context,
                self.keepers[user],
                path,
                team=self.team,
                agent=os.path.basename(path),
                repo=repo,
                occupied=occupied,
                discard=discard,
                guest=user if user != own else "",
            )
            for path, user in (*sorted(whose.items()), *sorted(copies.items()))
        ]
        # The disk has the last word, not the answers above.
        left = {
            user: [worktrees.as_left(one, removed, occupied) for one in seen.values()]
            for user, seen in (await self.look()).items()
        }
        return Cleared(
            removals=[
                *(one for one in removed if one.removed),
                *(one for seen in left.values() for one in seen),
                *self.unseen.values(),
            ],
            users={*(user for user, seen in left.items() if seen), *self.unseen},
        )


def _in_room(context: Context, team: str, user: str, path: str) -> bool:
    """Whether this is in a user's own room: what a keeper says of the rooms of others changes nothing."""
    return os.path.dirname(path) == os.path.dirname(worktrees.path_of(context, team, "any", user))


@dataclass(frozen=True, slots=True)
class Cleared:
    """What became of them."""

    removals: Sequence[WorkspaceRemoval]
    #: The users who have something left.
    users: set[str]
