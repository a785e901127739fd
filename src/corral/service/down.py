"""`corral down`: end everything of a team, then prove it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from corral.domain import lifecycle, states
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.records import Agent, NewEvent, Team, Who
from corral.ports.keeper import Check, Ended, Keeper, Residue, WorkspaceRemoval
from corral.service.context import Context
from corral.service.progress import Progress, Tell
from corral.supervise.supervisor import DEFAULT_GRACE

log = logging.getLogger("corral.daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A workspace that stayed because of the work in it."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of what a teardown did and left."""

    team: str
    clean: bool
    checks: Sequence[Check]
    seconds: float
    stopped: Sequence[str]
    #: Processes that had to be killed after the grace period.
    killed: int = 0
    kept: Sequence[Kept] = ()
    discarded: Sequence[Kept] = ()


class Down:
    """The use case. A second `down` of a team while one is under way waits for it and gets the same receipt."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._under_way: dict[tuple[str, bool], asyncio.Task[Receipt]] = {}

    async def __call__(self, who: Who, team: str, *, grace: float | None, discard: bool, tell: Tell) -> Receipt:
        """Take the team down. The receipt says what is left; nothing that holds work is removed without `discard`."""
        key = (team, discard)
        task = self._under_way.get(key)
        if task is None:
            work = self._do(who, team, DEFAULT_GRACE if grace is None else grace, discard=discard, tell=tell)
            task = self._under_way[key] = asyncio.get_running_loop().create_task(work)
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def _do(self, who: Who, name: str, grace: float, *, discard: bool, tell: Tell) -> Receipt:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with self._supervisor.lock(name):
            team = self._registry.teams.get(name)
            if team is None:
                raise NotFoundError(f"no team {name} is up", "corral ps shows what is up")
            agents = self._registry.of_team(name)
            keeper = await self._supervisor.link.open()
            await self._announce(who, agents.values())
            for agent in agents:
                tell(Progress(agent=agent, step="stopping", of=len(agents)))
            ended = await self._supervisor.insist(lambda keeper: keeper.take_down(name, grace))
            for done, agent in enumerate(agents, 1):
                tell(Progress(agent=agent, step="stopped", done=done, of=len(agents)))
            keeper = await self._supervisor.link.open()
            removals = await self._remove_workspaces(keeper, team, agents.values(), discard=discard)
            checks = [*await keeper.census(name), _worktree_check(removals)]
            receipt = Receipt(
                team=name,
                clean=not any(check.found for check in checks),
                checks=checks,
                seconds=round(loop.time() - began, 3),
                stopped=list(agents),
                killed=ended.killed,
                kept=[Kept(path=r.path, why=r.why) for r in removals if not r.removed and r.why],
                discarded=[Kept(path=r.path, why=r.why) for r in removals if r.removed and r.why],
            )
            await self._record(who, team, agents.values(), receipt, ended)
        return receipt

    async def _announce(self, who: Who, agents: Iterable[Agent]) -> None:
        now = self._now()
        records = [lifecycle.stopping(agent, now) for agent in agents if agent.state in states.LIVE]
        events = [NewEvent(event="agent.stopping", team=agent.team, agent=agent.name) for agent in records]
        await self._registry.observe(records, events, who)

    async def _remove_workspaces(
        self, keeper: Keeper, team: Team, agents: Iterable[Agent], *, discard: bool
    ) -> list[WorkspaceRemoval]:
        # All that there are: also those of agents that left the file, or were removed, and whose work is done.
        worktrees = {removal.path for removal in await keeper.inspect_workspaces(team.name)}
        worktrees |= {agent.workspace for agent in agents if agent.workspace_kind == "worktree"}
        removed = [
            await keeper.remove_workspace(
                team=team.name, agent=os.path.basename(path), path=path, repo=team.repo, discard=discard
            )
            for path in sorted(worktrees)
        ]
        # The disk has the last word, not the answers above.
        left = await keeper.inspect_workspaces(team.name)
        return [removal for removal in removed if removal.removed] + left

    async def _record(self, who: Who, team: Team, agents: Iterable[Agent], receipt: Receipt, ended: Ended) -> None:
        """Forget the team if nothing is left of it; else keep it, so that the rest can still be dealt with."""
        event = NewEvent(
            event="team.down",
            team=team.name,
            outcome="ok" if receipt.clean else "failed",
            data={
                "checks": {check.what: check.found for check in receipt.checks},
                "seconds": receipt.seconds,
                "killed": receipt.killed,
                "kept": [kept.path for kept in receipt.kept],
                "discarded": [f"{kept.path}: {kept.why}" for kept in receipt.discarded],
            },
        )
        agents = list(agents)
        stopped = [_stopped(agent, ended) for agent in agents]
        if receipt.clean:
            try:
                await self._registry.commit(
                    who,
                    drop_teams=[team.name],
                    drop_agents=[agent.key for agent in agents],
                    events=[*stopped, event],
                )
            except CorralError as error:
                # All of it is gone, and that counts; the records go with the next `down` that can be written.
                log.error("%s is down, and that could not be written: %s", team.name, error.message)
                now = self._now()
                await self._registry.observe([lifecycle.stopped(agent, None, None, now) for agent in agents], stopped)
        else:
            now = self._now()
            left = [
                replace(agent, state=states.STOPPED, since=now, pid=None, reason="something of its team is left")
                for agent in agents
            ]
            await self._registry.observe(left, [*stopped, event], who)


def _stopped(agent: Agent, ended: Ended) -> NewEvent:
    status = ended.exits.get(agent.run)
    code = None
    if status is not None:
        code = 128 + status.signal if status.signal is not None else status.code
    return NewEvent(event="agent.stopped", team=agent.team, agent=agent.name, data={"exit_code": code})


def _worktree_check(removals: Sequence[WorkspaceRemoval]) -> Check:
    residue = [
        Residue(kind="worktree", name=removal.path, why="holds no work, and could not be removed")
        for removal in removals
        if not removal.removed and not removal.why
    ]
    return Check(what="worktrees", found=len(residue), residue=residue)
