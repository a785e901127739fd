"""`corral down`: end everything of a team, then prove it. Of a team that is down already: deal with what it left."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from corral.domain import lifecycle, names, states
from corral.domain.errors import CorralError, DeniedError, NotFoundError
from corral.domain.port_blocks import AgentKey
from corral.domain.records import Agent, NewEvent, Who
from corral.failpoint import point
from corral.ports.census import Bystander, Check, Residue
from corral.ports.runs import Ended
from corral.ports.store import Item
from corral.ports.workspace import WorkspaceRemoval
from corral.service.belongings import Belongings, GivenBack
from corral.service.context import Context
from corral.service.floors import Floors, noted, others_with
from corral.service.merge_batch import Resting
from corral.service.merge_work import MergeWork
from corral.service.port_blocks import PortBlocks
from corral.service.progress import Progress, Tell
from corral.service.resolve import find_team_to_end
from corral.service.team_names import is_anothers
from corral.service.turn import MayGoOn, as_decided
from corral.supervise.supervisor import DEFAULT_GRACE

log = logging.getLogger("corral.daemon")

#: There is a process to end, or a start to call off.
_TO_BE_STOPPED = states.LIVE | {states.BACKOFF}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A workspace that stayed, or that was thrown away, and what was in it."""

    path: str
    why: str
    #: It stayed because it is no worktree of ours: `--discard` is no remedy.
    in_the_way: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of what a teardown did and left."""

    team: str
    clean: bool
    checks: Sequence[Check]
    seconds: float
    #: The agents that there was something to end of; not those that had ended before, or never ran.
    stopped: Sequence[str]
    #: Processes that had to be killed after the grace period.
    killed: int = 0
    #: False if the store could not be written: `ps` still lists the team, and `down` has to be said again.
    written: bool = True
    #: Processes that are not the team's and live in its workspaces. They are named and left alone.
    bystanders: Sequence[Bystander] = ()
    #: What the agents had and gave back: leases, locks, claims.
    given_back: Mapping[str, int] = field(default_factory=dict)
    #: What waits for the next team of this name: messages to its agents, open tasks, merges in line.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Those merges, by name and branch.
    merges: Sequence[str] = ()
    kept: Sequence[Kept] = ()
    discarded: Sequence[Kept] = ()


class Down:
    """The use case. A second `down` of a team while one is under way waits for it and gets the same receipt.

    On a shared server, that is one of the same person: the names of teams at rest mean something else for each.
    """

    def __init__(self, context: Context, ports: PortBlocks, belongings: Belongings, merges: MergeWork) -> None:
        self._ports = ports
        self._merges = merges
        self._belongings = belongings
        self._context = context
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._places = context.places
        self._now = context.now
        #: By team, whether work is thrown away, and on a shared server who asked.
        self._under_way: dict[tuple[str, bool, str], asyncio.Task[Receipt]] = {}

    def find(self, *, name: str, file: str, cwd: str) -> str:
        """The team that is meant: one that is up, or one at rest that left worktrees behind.

        With a name and a file it is the team of that file, and the name only tells which worktrees are its.
        """
        try:
            return find_team_to_end(self._registry, name="" if file else name, file=file, cwd=cwd).name
        except NotFoundError:
            # On a shared server only the keeper of who asks can tell, and is asked in time.
            may_have_left = self._supervisor.keepers.shared and names.is_valid(name)
            if name and name not in self._registry.teams and (may_have_left or self._left_worktrees(name)):
                return name
            raise

    async def __call__(
        self,
        who: Who,
        team: str,
        *,
        caller: int,
        grace: float | None,
        discard: bool,
        tell: Tell,
        may_go_on: MayGoOn = as_decided,
    ) -> Receipt:
        """Take the team down. The receipt says what is left; nothing that holds work is removed without `discard`."""
        key = (team, discard, who.user if self._supervisor.keepers.shared else "")
        while (task := self._under_way.get(key)) is not None:
            try:
                receipt = await asyncio.shield(task)
            except DeniedError:
                # That was said to who asked for it; this one asks for itself, once the other is forgotten.
                await asyncio.sleep(0)
                continue
            await may_go_on()  # only the first was asked about with the lock held
            return receipt
        patience = DEFAULT_GRACE if grace is None else grace
        work = self._do(who, team, patience, caller=caller, discard=discard, tell=tell, may_go_on=may_go_on)
        task = self._under_way[key] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def _do(
        self, who: Who, name: str, grace: float, *, caller: int, discard: bool, tell: Tell, may_go_on: MayGoOn
    ) -> Receipt:
        loop = asyncio.get_running_loop()
        began = loop.time()
        shared = self._supervisor.keepers.shared
        async with self._supervisor.lock(name), self._supervisor.keepers.claimed(name, who.user if shared else ""):
            await may_go_on()
            team = self._registry.teams.get(name)
            owner = self._supervisor.keepers.owner(name)
            before = await others_with(self._context, name, owner)
            if team is None and self._context.rooms is not None and who.uid == 0:
                # Root has no keeper, and no rooms of its own.
                raise NotFoundError(
                    f"no team {name} is up", f"what it may have left, whoever had it takes down: corral down -t {name}"
                )
            if team is None and not (await self._left(name, before) if shared else self._left_worktrees(name)):
                raise NotFoundError(f"no team {name} is up", "corral ps shows what is up")
            # Of a team at rest whose name is another's, only what is in the rooms of who asks is dealt with.
            mine = team is not None or not shared or not await is_anothers(self._context.store, name, who.user)
            agents = self._registry.of_team(name)
            stopping = [agent for agent in agents.values() if agent.state in _TO_BE_STOPPED]
            keeper = await self._supervisor.keepers.of(name).open()
            await self._announce(who, stopping)
            point("daemon.down_announced")
            merges = await self._merges.rest(name) if mine else Resting(waiting=(), left=())
            for agent in stopping:
                tell(Progress(agent=agent.name, step="stopping", of=len(stopping)))
            ended = Ended()
            if team:
                ended = await self._supervisor.insist(name, lambda keeper: keeper.take_down(name, grace))
            for done, agent in enumerate(stopping, 1):
                tell(Progress(agent=agent.name, step="stopped", done=done, of=len(stopping)))
            keeper = await self._supervisor.keepers.of(name).open()
            point("daemon.taken_down")
            repo = team.repo if team else None
            floors = await Floors.of(self._context, name, before)
            whose = await floors.whose(agents.values(), self._context)
            bystanders = await floors.bystanders({*whose, *(agent.workspace for agent in agents.values())}, caller)
            cleared = await floors.clear(self._context, whose, repo, bystanders, discard=discard)
            removals = cleared.removals
            point("daemon.workspaces_removed")
            had = await self._belongings.give_back(who, team, agents) if team is not None else GivenBack()
            blocks = _block_check(await self._ports.free(who, name) if mine else ())
            checks = [*await keeper.census(name), _worktree_check(removals, merges.left), blocks, *had.checks]
            receipt = Receipt(
                team=name,
                clean=all(check.found == 0 for check in checks),
                checks=checks,
                seconds=round(loop.time() - began, 3),
                stopped=[agent.name for agent in stopping],
                killed=ended.killed,
                kept=[_kept(removal) for removal in removals if not removal.removed and removal.why],
                discarded=[_kept(removal) for removal in removals if removal.removed and removal.why],
                bystanders=bystanders,
                given_back={"leases": had.leases, "locks": had.locks, "claims": had.claims},
                waiting={"messages": had.messages, "tasks": had.tasks, "merges": len(merges.waiting)},
                merges=merges.waiting,
            )
            point("daemon.census_taken")
            stopped = [_stopped(agent, ended) for agent in stopping]
            put, drop = noted(name, owner, cleared.users - {owner}) if shared else ((), ())
            # An event by this name is told of the team whose it is: what somebody else cleared away is none of that.
            events = [*stopped, _event(receipt)] if mine else []
            end = _End(events=events, put_items=put, drop_items=drop, clean=receipt.clean)
            written = await self._record(who, name, agents.values(), end)
        return replace(receipt, written=written and not any(check.found for check in (blocks, *had.checks)))

    def _left_worktrees(self, team: str) -> bool:
        root = os.path.dirname(self._places.worktree(team, "any"))
        return names.is_valid(team) and os.path.isdir(root) and bool(os.listdir(root))

    async def _left(self, team: str, before: Iterable[str]) -> bool:
        """Whether there is something of a team that is down, or may be."""
        floors = await Floors.of(self._context, team, before)
        return bool(floors.unseen) or any((await floors.look()).values())

    async def _announce(self, who: Who, agents: Iterable[Agent]) -> None:
        now = self._now()
        records = [lifecycle.stopping(agent, now) for agent in agents if agent.state in states.LIVE]
        events = [NewEvent(event="agent.stopping", team=agent.team, agent=agent.name) for agent in records]
        await self._registry.observe(records, events, who)

    async def _record(self, who: Who, team: str, agents: Iterable[Agent], end: _End) -> bool:
        """Forget the team if nothing is left of it; else keep it, so that the rest can still be dealt with.

        False if the store could not be written.
        """
        agents = list(agents)
        known = team in self._registry.teams
        if end.clean or not known:
            try:
                await self._registry.commit(
                    who,
                    drop_teams=[team],
                    drop_agents=[agent.key for agent in agents],
                    events=end.events,
                    put_items=end.put_items,
                    drop_items=end.drop_items,
                )
            except CorralError as error:
                if not known:
                    await self._registry.observe((), end.events, who)
                    return True
                # All of it is gone, and that counts; the records go with the next `down` that can be written.
                log.error("%s is down, and that could not be written: %s", team, error.message)
                now = self._now()
                stopped = end.events[:-1]
                await self._registry.observe([lifecycle.stopped(agent, None, None, now) for agent in agents], stopped)
                return False
        else:
            now = self._now()
            left = [
                replace(agent, state=states.STOPPED, since=now, pid=None, reason="something of its team is left")
                for agent in agents
            ]
            await self._registry.observe(left, end.events, who)
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How it ended, for the store."""

    events: Sequence[NewEvent]
    put_items: Sequence[Item]
    drop_items: Sequence[tuple[str, str]]
    clean: bool


def _event(receipt: Receipt) -> NewEvent:
    """The receipt in short."""
    return NewEvent(
        event="team.down",
        team=receipt.team,
        outcome="ok" if receipt.clean else "failed",
        data={
            "checks": {check.what: check.found for check in receipt.checks},
            "seconds": receipt.seconds,
            "killed": receipt.killed,
            "given_back": dict(receipt.given_back),
            "kept": [kept.path for kept in receipt.kept],
            "discarded": [f"{kept.path}: {kept.why}" for kept in receipt.discarded],
            # Their programs alone: the receipt is for whoever asked, and the journal for more.
            "bystanders": [f"{one.pid} {_program(one)}" for one in receipt.bystanders],
        },
    )


def _program(one: Bystander) -> str:
    return os.path.basename(one.command.split(" ", 1)[0])


def _kept(removal: WorkspaceRemoval) -> Kept:
    return Kept(path=removal.path, why=removal.why, in_the_way=removal.in_the_way)


def _stopped(agent: Agent, ended: Ended) -> NewEvent:
    status = ended.exits.get(agent.run)
    code = status.shell_code if status is not None else None
    return NewEvent(event="agent.stopped", team=agent.team, agent=agent.name, data={"exit_code": code})


def _block_check(left: Sequence[AgentKey]) -> Check:
    residue = [
        Residue(kind="port_block", name="/".join(key), why="is still leased: that it is free could not be written down")
        for key in left
    ]
    return Check(what="port_blocks", found=len(residue), residue=residue)


def _cannot_go(problem: str) -> str:
    return "holds no work, and could not be removed" + (f": {problem}" if problem else "")


def _worktree_check(removals: Sequence[WorkspaceRemoval], of_gates: Sequence[str]) -> Check:
    residue = [
        Residue(kind="worktree", name=removal.path, why=_cannot_go(removal.problem))
        for removal in removals
        if not removal.removed and not removal.why
    ]
    residue += [Residue(kind="worktree", name="of the merge queue", why=why) for why in of_gates]
    return Check(what="worktrees", found=len(residue), residue=residue)
