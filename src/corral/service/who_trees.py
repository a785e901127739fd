"""The working trees that `who` looks at: each by the keeper of the user whose it is, because nobody else gets in.

A keeper is believed about trees of its own user, as far as what it says can be. One that is silent or fails takes
nothing from what the others tell: what it has was not looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from corral.domain.errors import CorralError
from corral.domain.foreign_words import foreign_words, told_error
from corral.domain.records import Agent
from corral.domain.spec_model import WORKTREE
from corral.ports.history import FileHistory, OpenChange, OpenChanges
from corral.service.lists import LIST_SECONDS
from corral.supervise.keepers import Keepers

#: Working trees of a repository, each with the agents that work there.
Workspaces = Mapping[str, Sequence[Agent]]
_HOW = ("changed", "new", "deleted")
#: No moment that is told is later, in unix seconds.
_LATEST = 1e11
#: Of what a keeper could not look at, so much is told.
_MOST_UNSEEN = 20


def by_user(keepers: Keepers, workspaces: Workspaces, owner: str) -> dict[str, list[str]]:
    """The working trees of each user. The checkout that a team shares is of the team's `owner`."""
    found: dict[str, list[str]] = {owner: []}
    for path, agents in workspaces.items():
        alone = agents[0] if agents[0].workspace_kind == WORKTREE else None
        user = owner if alone is None else alone.run_as or keepers.owner(alone.team)
        found.setdefault(user, []).append(path)
    return found


async def with_others(
    keepers: Keepers, history: FileHistory, path: bytes, others: Mapping[str, Sequence[str]]
) -> FileHistory:
    """The history of a file, and how it is in the working trees of other users."""
    looks = await asyncio.gather(*(_look(keepers, user, path, list(trees)) for user, trees in others.items()))
    return msgspec.structs.replace(
        history,
        known=history.known or any(one.known for one in looks),
        open_changes=[*history.open_changes, *(change for one in looks for change in one.changes)],
        unseen=[*history.unseen, *(words for one in looks for words in one.unseen)],
    )


async def _look(keepers: Keepers, user: str, path: bytes, trees: list[str]) -> OpenChanges:
    async def ask() -> OpenChanges:
        keeper = await keepers.of_user(user).open()
        return await keeper.open_changes(path=path, workspaces=trees)

    asking = asyncio.ensure_future(ask())
    # Not cancelled when it takes too long: others wait for the same connection.
    asking.add_done_callback(lambda done: done.cancelled() or done.exception())
    await asyncio.wait({asking}, timeout=LIST_SECONDS)
    where = f"the working trees of {user}" if len(trees) > 1 else trees[0]
    if not asking.done():
        why = f"the keeper of {user} has not answered within {LIST_SECONDS:.0f} s"
        return OpenChanges(unseen=[f"{where}: {why}"])
    try:
        told = asking.result()
    except CorralError as error:
        return OpenChanges(unseen=[f"{where}: {told_error(error)}"])
    unseen = [f"the keeper of {user} says: {foreign_words(words)}" for words in told.unseen[:_MOST_UNSEEN]]
    return OpenChanges(known=told.known, changes=_believed(told.changes, trees), unseen=unseen)


def _believed(changes: Sequence[OpenChange], trees: Sequence[str]) -> list[OpenChange]:
    """What can be, once for each tree."""
    found = {change.workspace: change for change in changes if change.workspace in trees and change.how in _HOW}
    return [msgspec.structs.replace(one, time=_moment(one.time)) for one in found.values()]


def _moment(time: float | None) -> float | None:
    # Of what is no number every comparison is false.
    return time if time is not None and 0.0 <= time < _LATEST else None
