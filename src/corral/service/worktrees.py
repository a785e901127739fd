"""Where worktrees are, having them made, and taking them off the disk for `down` and `rm` alike.

Nobody's floor is taken away without being told to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec

from corral.domain.copies import COPY, copy_beside, guest_of
from corral.domain.enforcement import NO_ENFORCEMENT
from corral.domain.errors import CorralError
from corral.domain.foreign_words import told_error
from corral.domain.records import Agent, Team
from corral.domain.spec import WORKTREE
from corral.ports.census import Bystander
from corral.ports.keeper import Keeper
from corral.ports.workspace import Workspace, WorkspaceRemoval
from corral.service.context import Context

#: A copy is brought up to date within so many seconds before a worktree of it goes, or that stays.
_PATIENCE = 120.0

log = logging.getLogger("corral.daemon")


def occupants(bystanders: Iterable[Bystander]) -> dict[str, str]:
    """For each directory that somebody lives in a sentence that names them all. The directories are real paths."""
    found: dict[str, list[str]] = {}
    for one in bystanders:
        found.setdefault(one.directory, []).append(f"{one.command} (pid {one.pid})")
    return {where: f"{', '.join(who)} {'is' if len(who) == 1 else 'are'} in it" for where, who in found.items()}


def path_of(context: Context, team: str, agent: str, run_as: str = "") -> str:
    """Where the worktree of an agent is, or will be."""
    if context.rooms is None:
        return context.places.worktree(team, agent)
    return context.rooms.worktree(run_as or context.supervisor.keepers.owner(team), team, agent)


async def prepare(context: Context, keeper: Keeper, agent: Agent, repo: str | None, start: str = "") -> Workspace:
    """Have the workspace of an agent. On a shared server, room is made for a worktree first: its place is root's."""
    access = context.registry.teams[agent.team].group_access
    if context.rooms is not None and agent.workspace_kind == WORKTREE:
        user = agent.run_as or context.supervisor.keepers.owner(agent.team)
        await context.rooms.make(user, agent.team, agent.name, access)
    team = context.registry.teams[agent.team]
    if context.lending is not None and guest_of(team, agent):
        await context.lending.exchange(team, agent, making=True)
        repo = copy_beside(agent.workspace)
    made = await keeper.prepare_workspace(
        team=agent.team,
        agent=agent.name,
        kind=agent.workspace_kind,
        path=agent.workspace,
        repo=repo,
        start=start,
        access=access.access,
    )
    if context.lending is not None:
        context.lending.made(team, agent)
    return made


async def guard(keeper: Keeper, team: Team, agent: Agent) -> str:
    """Have the hooks of an agent's worktree be as the settings of its team say, whatever became of them since.

    The answer is what a person should know of it; empty if all is well, or if it has no worktree.
    """
    if agent.workspace_kind != WORKTREE:
        return ""
    return await keeper.guard_workspace(
        team=team.name,
        agent=agent.name,
        path=agent.workspace,
        enforcement=team.enforcement,
        target=team.merge.target,
    )


def as_left(
    left: WorkspaceRemoval, removed: Iterable[WorkspaceRemoval], occupied: Mapping[str, str]
) -> WorkspaceRemoval:
    """What is still there, as it was seen after all were tried: with who is in it, or with why it could not go."""
    why = left.why or occupied.get(os.path.realpath(left.path), "")
    said = next((one.why for one in removed if one.path == left.path and not one.removed), "")
    return msgspec.structs.replace(left, why=why, problem="" if why else said)


async def take_away(
    context: Context,
    keeper: Keeper,
    path: str,
    *,
    team: str,
    agent: str,
    repo: str | None,
    occupied: Mapping[str, str],
    discard: bool,
    guest: str = "",
) -> WorkspaceRemoval:
    """Remove a worktree if no work would be lost by it and nobody is in it, or if `discard` says so.

    `keeper` is that of the user whose it is: the `guest`, if it is of a copy of the repository.
    """
    somebody = occupied.get(os.path.realpath(path))
    if somebody and not discard:
        # Whoever is in it may go on there, and commit without anybody being asked.
        await keeper.guard_workspace(team=team, agent=agent, path=path, enforcement=NO_ENFORCEMENT)
        return WorkspaceRemoval(path=path, removed=False, why=somebody)
    if not guest:
        return await keeper.remove_workspace(team=team, agent=agent, path=path, repo=repo, discard=discard)
    try:
        unknown = await _bring_up_to_date(context, team, agent)
        if unknown and not discard and await _is_there(context, team, guest, path):
            await keeper.guard_workspace(team=team, agent=agent, path=path, enforcement=NO_ENFORCEMENT)
            return WorkspaceRemoval(path=path, removed=False, why=unknown)
        copy = copy_beside(path)
        async with _at_rest(context, team, guest):
            removal = await keeper.remove_workspace(team=team, agent=agent, path=path, repo=copy, discard=discard)
    except CorralError as error:
        return WorkspaceRemoval(path=path, removed=False, why=error.message)
    gone = removal.removed or not removal.why
    if repo is None or agent == COPY or not gone or not _is_theirs(context, team, agent, guest, path):
        return removal
    try:
        owner = await context.supervisor.keepers.of_user(context.supervisor.keepers.owner(team)).open()
        await owner.settle_branch(team=team, agent=agent, repo=repo, discard=discard)
    except CorralError as error:
        left = f"its branch may be left in {repo}: {error.message}"
        return msgspec.structs.replace(removal, why="; ".join(filter(None, (removal.why, left))))
    return removal


def _is_theirs(context: Context, team: str, agent: str, guest: str, path: str) -> bool:
    """Whether the branch of an agent is this guest's: what their keeper says of others changes nothing."""
    record = context.registry.agents.get((team, agent))
    return path == path_of(context, team, agent, guest) and (record is None or record.run_as == guest)


async def _is_there(context: Context, team: str, guest: str, path: str) -> bool:
    """Whether the guest has anything at this place."""
    keeper = await context.supervisor.keepers.of_user(guest).open()
    return path in {one.path for one in await keeper.inspect_workspaces(team)}


@contextlib.asynccontextmanager
async def _at_rest(context: Context, team: str, guest: str) -> AsyncIterator[None]:
    """Nothing is carried to or from the copy of a guest; if it is in a moment, that does not last as long as it may."""
    if context.lending is None:
        yield
        return
    async with contextlib.AsyncExitStack() as stack:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await stack.enter_async_context(context.lending.at_rest(team, guest))
        yield


async def _bring_up_to_date(context: Context, team: str, agent: str) -> str:
    """What is in the repository by now keeps no worktree of a copy. Where that is not known, work is kept: why not, in
    words.
    """
    record, known = context.registry.agents.get((team, agent)), context.registry.teams.get(team)
    if context.lending is None or record is None or known is None:
        return ""
    try:
        async with asyncio.timeout(_PATIENCE):
            await context.lending.exchange(known, record)
    except TimeoutError:
        return f"it is not known what of its work is in the repository: that took longer than {_PATIENCE:.0f} s"
    except CorralError as error:
        log.warning("the copy of %s/%s is not up to date: %s", team, agent, error.message)
        return f"it is not known what of its work is in the repository: {told_error(error)}"
    return ""
