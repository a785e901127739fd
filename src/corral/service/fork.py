"""`corral fork`: a new agent beside another, with the same declaration and the other's past.

It gets a worktree of its own that begins with the other's last commit, ports of its own, and where the program can do
that a conversation that begins with the other's. The other goes on as if nothing had happened. See `domain.forks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.agents.catalogue import for_command
from corral.domain import forks, lifecycle, states
from corral.domain.attendance import is_person
from corral.domain.copies import guest_of
from corral.domain.environment import AGENT_VARIABLE
from corral.domain.errors import CorralError, RefusedError
from corral.domain.kinds import SERVICE
from corral.domain.port_blocks import Block, variables
from corral.domain.records import Agent, NewEvent, Who
from corral.domain.spec import WORKTREE
from corral.ports.conversations import ForkPoint
from corral.ports.keeper import Keeper
from corral.service import worktrees
from corral.service.agent_room import AgentRoom
from corral.service.context import Context
from corral.service.port_blocks import PortBlocks
from corral.service.progress import Progress, Tell
from corral.service.registering import register
from corral.service.turn import MayGoOn, as_decided

#: What `up` starts of forks, as it does of what the file declares.
_DOES_NOT_RUN = states.AT_REST | {states.PENDING, states.BACKOFF}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """The agent that was made."""

    team: str
    agent: str
    #: The agent that it was forked from.
    source: str
    state: str
    detail: str
    workspace: str
    branch: str
    #: The commit that its worktree began with; empty if it has none of its own.
    commit: str
    #: The conversation of the other that it goes on with; empty if it began a new one.
    session: str
    #: What a person should know besides.
    notes: Sequence[str] = ()


class Fork:
    """The use case."""

    def __init__(self, context: Context, ports: PortBlocks, room: AgentRoom) -> None:
        self._ports = ports
        self._room = room
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._context = context
        self._now = context.now

    async def __call__(
        self, who: Who, source: Agent, name: str, prompt: str, *, tell: Tell, may_go_on: MayGoOn = as_decided
    ) -> Forked:
        """Make the agent and start it. If it cannot be made, nothing of it stays."""
        team = source.team
        async with self._supervisor.lock(team):
            await may_go_on()
            source = self._registry.agent(team, source.name)
            forks.check_name(name, self._registry.agents.get((team, name)))
            owner = self._registry.teams[team].user
            self._room.check(owner, team, [name])
            await self._supervisor.be_certain(team)
            keeper = await self._supervisor.keepers.of(team).open()
            session, notes = await self._conversation(source)
            point, work = await self._point(keeper, source)
            record = self._record(source, name, prompt, session)
            with self._room.taken(owner, team, [name]):
                await self._declare(who, record, point)
            tell(Progress(agent=name, step="workspace", detail=record.workspace, of=1))
            try:
                branch, more = await self._prepare(who, keeper, source, record, point)
            except CorralError:
                await self._undo(who, keeper, record)
                raise
            tell(Progress(agent=name, step="starting", of=1))
            notes += [*work, *more, *await self._supervisor.line.request(team, [name], who)]
        made = self._registry.agent(team, name)
        failed = made.state in (states.FAILED, states.BACKOFF)
        tell(Progress(agent=name, step="failed" if failed else made.state, detail=made.reason, done=1, of=1))
        return Forked(
            team=team,
            agent=name,
            source=source.name,
            state=made.state,
            detail=made.reason,
            workspace=made.workspace,
            branch=branch,
            commit=point.commit,
            session=session,
            notes=notes,
        )

    async def bring_back(self, who: Who, team: str) -> list[str]:
        """Start the forks of a team that do not run; for `up`, which starts what the file declares before.

        The caller holds the team's lock. What a person should know of them, in words. If no person asks, what Corral
        itself had stopped for good stays so.
        """
        by_person = is_person(who.agent, who.uid)
        resting = [
            agent
            for agent in self._registry.of_team(team).values()
            if agent.fork_of and agent.state in _DOES_NOT_RUN and agent.place is None
            if by_person or not lifecycle.stays_stopped(agent)
        ]
        notes = []
        for agent in resting:
            keeper = await self._supervisor.keepers.of(team).open()
            source = self._registry.agents.get((team, agent.fork_of))
            try:
                _, more = await self._prepare(who, keeper, source, agent, ForkPoint())
                notes += [*more, *await self._supervisor.line.request(team, [agent.name], who)]
                now = self._registry.agent(team, agent.name)
                notes.append(f"{agent.name}, forked from {agent.fork_of}: {now.state}")
            except CorralError as error:
                notes.append(f"{agent.name}, forked from {agent.fork_of}, is not started: {error.message}")
        return notes

    async def _conversation(self, source: Agent) -> tuple[str, list[str]]:
        """What the fork goes on with, and what a person should know of that. A service speaks with nobody."""
        if source.kind == SERVICE:
            return "", []
        profile = for_command(source.command, source.shell)
        title, ways = (profile.title, profile.resume) if profile is not None else ("its program", None)
        session = await self._supervisor.conversations.present(source)
        why = forks.why_fresh(source, title, ways, session)
        return ("", [why]) if why else (session, [])

    @staticmethod
    async def _point(keeper: Keeper, source: Agent) -> tuple[ForkPoint, list[str]]:
        """The state that the fork's work begins with, and what a person should know of that."""
        if source.workspace_kind != WORKTREE:
            return ForkPoint(), [f"it works where {source.name} does, in {source.workspace}: that is no worktree"]
        point = await keeper.fork_point(source.workspace)
        if not point.commit:
            raise RefusedError(
                f"{source.name} has no commit that another worktree could begin with", "commit something there first"
            )
        left = f"not in the fork: {point.uncommitted} of {source.name}. It begins with the last commit there"
        return point, [left] if point.uncommitted else []

    def _record(self, source: Agent, name: str, prompt: str, session: str) -> Agent:
        own = source.workspace_kind == WORKTREE
        last = max(agent.position for agent in self._registry.of_team(source.team).values())
        return forks.forked(
            source,
            name,
            position=last + 1,
            workspace=worktrees.path_of(self._context, source.team, name, source.run_as) if own else source.workspace,
            prompt=prompt,
            session=session,
            since=self._now(),
        )

    async def _declare(self, who: Who, record: Agent, point: ForkPoint) -> None:
        """Write it down before anything is made for it."""
        data: dict[str, object] = {
            "fork_of": record.fork_of,
            "commit": point.commit,
            "session": record.conversation.forked_from,
        }
        event = NewEvent(event="agent.forked", team=record.team, agent=record.name, data=data)
        await self._registry.commit(who, agents=[record], events=[event])

    async def _prepare(
        self, who: Who, keeper: Keeper, source: Agent | None, record: Agent, point: ForkPoint
    ) -> tuple[str, list[str]]:
        """Make what it needs to be started: its worktree, its ports, its environment. Its branch, and notes."""
        team = self._registry.teams[record.team]
        workspace = await worktrees.prepare(self._context, keeper, record, team.repo, point.commit)
        notes = [f"{record.name}: {workspace.note}"] if workspace.note else []
        if note := await worktrees.guard(keeper, team, record):
            notes.append(f"{record.name}: {note}")
        notes += await register(keeper, record)
        block = await self._block(who, source, record)
        own = {AGENT_VARIABLE: record.name, **variables(block, block.names)}
        await keeper.copy_environment(team=record.team, source=record.fork_of, agent=record.name, own=own)
        return workspace.branch, notes

    async def _block(self, who: Who, source: Agent | None, record: Agent) -> Block:
        """Ports of its own, with the names that the other's have."""
        team = self._registry.teams[record.team]
        names = list(self._ports.names_of(source)) if source is not None else []
        given = await self._ports.allocate(who, record.team, team.ports, {record.name: names}, user=team.user)
        block = given.get(record.name)
        if block is None:
            raise self._ports.nothing_left(team.user, team.ports)
        return block

    async def _undo(self, who: Who, keeper: Keeper, record: Agent) -> None:
        """Leave nothing of an agent that could not be made."""
        await self._ports.free(who, record.team, [record.name])
        if record.workspace_kind == WORKTREE:
            team = self._registry.teams[record.team]
            await worktrees.take_away(
                self._context,
                keeper,
                record.workspace,
                team=record.team,
                agent=record.name,
                repo=team.repo,
                occupied={},
                discard=False,
                guest=guest_of(team, record),
            )
        event = NewEvent(event="agent.removed", team=record.team, agent=record.name, outcome="failed")
        await self._registry.commit(who, drop_agents=[record.key], events=[event])
