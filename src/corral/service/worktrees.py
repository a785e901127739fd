"""Where worktrees are, having them made, and taking them off the disk for `down` and `rm` alike.

Nobody's floor is taken away without being told to.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import msgspec

from corral.domain.enforcement import NO_ENFORCEMENT
from corral.domain.errors import CorralError
from corral.domain.records import Agent, Team
from corral.domain.spec import WORKTREE
from corral.ports.census import Bystander
from corral.ports.keeper import Keeper
from corral.ports.workspace import Workspace, WorkspaceRemoval
from corral.service.context import Context


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
    guest = agent.run_as if agent.workspace_kind == WORKTREE else ""
    async with _making_worktrees(keeper, repo, guest):
        return await keeper.prepare_workspace(
            team=agent.team,
            agent=agent.name,
            kind=agent.workspace_kind,
            path=agent.workspace,
            repo=repo,
            start=start,
            access=access.access,
        )


@asynccontextmanager
async def _making_worktrees(owner: Keeper, repo: str | None, guest: str) -> AsyncIterator[None]:
    """In this block the guest, if there is one, makes or removes a worktree in the owner's repository."""
    if not guest or repo is None:
        yield
        return
    await owner.let_make_worktrees(repo=repo, guest=guest, allowed=True)
    try:
        yield
    finally:
        await owner.let_make_worktrees(repo=repo, guest=guest, allowed=False)


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
    keeper: Keeper,
    path: str,
    *,
    team: str,
    agent: str,
    repo: str | None,
    occupied: Mapping[str, str],
    discard: bool,
    owner: Keeper,
    guest: str = "",
) -> WorkspaceRemoval:
    """Remove a worktree if no work would be lost by it and nobody is in it, or if `discard` says so.

    `guest` is the user whose it is, if that is another than the team's own, whose keeper is `owner`.
    """
    somebody = occupied.get(os.path.realpath(path))
    if somebody and not discard:
        # Whoever is in it may go on there, and commit without anybody being asked.
        await keeper.guard_workspace(team=team, agent=agent, path=path, enforcement=NO_ENFORCEMENT)
        return WorkspaceRemoval(path=path, removed=False, why=somebody)
    try:
        async with _making_worktrees(owner, repo, guest):
            removal = await keeper.remove_workspace(team=team, agent=agent, path=path, repo=repo, discard=discard)
    except CorralError as error:
        if not guest:
            raise
        return WorkspaceRemoval(path=path, removed=False, why=error.message)
    if not guest or repo is None or not removal.removed:
        return removal
    try:
        await owner.settle_repository(team=team, agent=agent, path=path, repo=repo, guest=guest, discard=discard)
    except CorralError as error:
        left = f"of its branch, and of what was shared with {guest}, something may be left: {error.message}"
        return msgspec.structs.replace(removal, why="; ".join(filter(None, (removal.why, left))))
    return removal
