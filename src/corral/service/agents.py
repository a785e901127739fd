"""Use cases on single agents: stop, restart, rm, send, attach, screen, logs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from corral.domain import states
from corral.domain.conversations import forgotten
from corral.domain.copies import guest_of
from corral.domain.errors import CorralError, RefusedError
from corral.domain.records import Agent, NewEvent, Who
from corral.domain.terminals import NO_TERMINAL
from corral.ports.dialogs import Peer
from corral.ports.output import LogEntry, TerminalShown
from corral.service import worktrees
from corral.service.context import Context
from corral.service.outfit import fit_out
from corral.service.people import must_be_a_person
from corral.service.port_blocks import PortBlocks
from corral.service.progress import Progress, Tell
from corral.service.reaching import keeper_soon
from corral.service.running import must_be_at_rest, must_have_run, without_terminal_told
from corral.service.turn import MayGoOn, as_decided
from corral.supervise.supervisor import DEFAULT_GRACE


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDone:
    """What became of one agent."""

    agent: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRemoved:
    """What became of an agent that was to be removed."""

    agent: str
    removed: bool
    #: The worktree that stayed because of the work in it, or of somebody who is in it.
    kept: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOutput:
    """A piece of one agent's output."""

    team: str
    agent: str
    time: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp:
    """In a followed log: what was there has been told, what follows happens now."""

    caught_up: bool = True


class Agents:
    """The use cases."""

    def __init__(self, context: Context, ports: PortBlocks) -> None:
        self._context = context
        self._ports = ports
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now

    async def stop(
        self,
        who: Who,
        team: str,
        names: Sequence[str],
        *,
        grace: float | None,
        tell: Tell,
        may_go_on: MayGoOn = as_decided,
    ) -> list[AgentDone]:
        """End agents with everything they started; their records and workspaces stay."""
        async with self._turn(team, names, may_go_on):
            await self._supervisor.be_certain(team, names)
            for name in names:
                tell(Progress(agent=name, step="stopping", of=len(names)))
            await self._supervisor.stop(team, names, DEFAULT_GRACE if grace is None else grace, who)
        return self._done(team, names, tell, "stopped")

    async def restart(
        self,
        who: Who,
        team: str,
        names: Sequence[str],
        *,
        grace: float | None,
        tell: Tell,
        fresh: bool = False,
        may_go_on: MayGoOn = as_decided,
    ) -> list[AgentDone]:
        """Stop what runs and start it again with the environment it had. Clears a failure.

        A worktree that went, and which the agent failed for, is made again. What never ran has no environment.
        Each goes on with its conversation, if it has one; with `fresh` it begins a new one.
        """
        async with self._turn(team, names, may_go_on):
            await self._supervisor.be_certain(team, names)
            keeper = await self._supervisor.keepers.of(team, names).open()
            for name in names:
                agent = self._registry.agent(team, name)
                must_have_run(agent)
                if agent.state == states.FAILED:
                    await worktrees.prepare(self._context, keeper, agent, self._registry.teams[team].repo)
                await fit_out(keeper, self._registry.teams[team], agent)
            await self._registry.must_take(team, names)
            for name in names:
                tell(Progress(agent=name, step="stopping", of=len(names)))
            await self._supervisor.stop(team, names, DEFAULT_GRACE if grace is None else grace, who)
            ended = [name for name in names if self._registry.agent(team, name).state in states.AT_REST]
            if fresh:
                await self._forget_conversations(who, team, ended)
            await self._supervisor.line.request(team, ended, who)
        return self._done(team, names, tell, "started")

    @asynccontextmanager
    async def _turn(self, team: str, names: Sequence[str], may_go_on: MayGoOn) -> AsyncIterator[None]:
        """In this block nobody else acts on the team. Raises, with nothing done, if one of the agents is gone."""
        async with self._supervisor.lock(team):
            await may_go_on()
            for name in names:
                self._registry.agent(team, name)
            yield

    async def _forget_conversations(self, who: Who, team: str, names: Sequence[str]) -> None:
        agents = [self._registry.agent(team, name) for name in names]
        events = [
            NewEvent(event="conversation.left", team=team, agent=agent.name, data={"session": agent.conversation.id})
            for agent in agents
            if agent.conversation.id
        ]
        await self._registry.commit(who, agents=[forgotten(agent) for agent in agents], events=events)

    async def remove(
        self,
        who: Who,
        team: str,
        names: Sequence[str],
        *,
        caller: int,
        grace: float | None,
        discard: bool,
        force: bool,
        tell: Tell,
        may_go_on: MayGoOn = as_decided,
    ) -> list[AgentRemoved]:
        """Forget agents that are at rest. A worktree with work or somebody in it stays, unless `discard` says not."""
        async with self._turn(team, names, may_go_on):
            await self._supervisor.be_certain(team)
            if not force:
                must_be_at_rest(self._registry.agent(team, name) for name in names)
            live = [name for name in names if self._registry.agent(team, name).state not in states.AT_REST]
            if live:
                await self._supervisor.stop(team, live, DEFAULT_GRACE if grace is None else grace, who)
            keeper = await self._supervisor.keepers.of(team).open()
            agents = [self._registry.agent(team, name) for name in names]
            runs = {agent.run: agent.name for agent in agents if agent.run}
            if runs:
                await keeper.stop(team, runs, DEFAULT_GRACE, spare=False)
            floors = [agent.workspace for agent in agents if agent.workspace_kind == "worktree"]
            occupied = worktrees.occupants(await keeper.bystanders(team, floors, caller)) if floors else {}
            outcomes = []
            for done, agent in enumerate(agents, 1):
                outcomes.append(await self._remove_one(who, agent, occupied, discard=discard))
                tell(Progress(agent=agent.name, step="removed", done=done, of=len(names)))
                # By its own keeper: of an agent that is not known any more nobody could tell whose it was.
                await (await self._supervisor.keepers.of_agent(agent).open()).forget_agent(team, agent.name)
            await self._ports.free(who, team, names)
        return outcomes

    async def attach(self, who: Who, peer: Peer, agent: Agent, *, read_only: bool) -> list[str]:
        """The argv that joins an agent's terminal; who joined is journalled.

        What is no person may only watch: at the keyboard of another agent it could answer what that one asks. On a
        shared server it is refused to everybody: there, who joins does so through the keeper.
        """
        if self._supervisor.keepers.shared:
            raise RefusedError(
                "on a shared server nobody but its keeper connects to the terminal of an agent",
                f"corral attach --drive {agent.name}, or --observe to watch, joins it by way of the keeper",
            )
        if not read_only and agent.terminal != NO_TERMINAL:
            remedy = f"corral attach -r {agent.name} only watches, corral send {agent.name} … speaks to it"
            await must_be_a_person(self._supervisor, who, peer, what=f"the keyboard of {agent.name}", remedy=remedy)
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        with without_terminal_told(agent):
            argv = await keeper.attach_command(agent.team, agent.run, read_only=read_only)
        await self._journal(who, agent, "agent.attached", "ok", {"read_only": read_only})
        return argv

    async def screen(self, agent: Agent) -> TerminalShown:
        """What an agent's terminal shows now."""
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        with without_terminal_told(agent):
            return await keeper.screen(agent.team, agent.run)

    async def logs(
        self, team: str, names: Sequence[str], *, lines: int | None, since: float | None, follow: bool
    ) -> AsyncIterator[LoggedOutput | CaughtUp]:
        """The output of agents: what there is, oldest first over all of them, then with `follow` what comes."""
        keeper = await self._supervisor.keepers.of(team, names).open()
        asked_at = self._now()
        cursors: dict[str, int] = {}
        past: list[tuple[str, LogEntry]] = []
        for name in names:
            page = await keeper.read_log(team=team, agent=name, after=None, lines=lines, since=since, wait=False)
            while True:
                past.extend((name, entry) for entry in page.entries)
                if not page.entries or page.next == cursors.get(name) or page.entries[-1].time > asked_at:
                    break  # what is written from now on could go on for ever
                cursors[name] = page.next
                page = await keeper.read_log(
                    team=team, agent=name, after=page.next, lines=None, since=since, wait=False
                )
            cursors[name] = page.next
        for name, entry in sorted(past, key=lambda item: item[1].time):
            yield LoggedOutput(team=team, agent=name, time=entry.time, text=entry.text)
        if not follow:
            return
        yield CaughtUp()
        queue: asyncio.Queue[LoggedOutput | CorralError] = asyncio.Queue(maxsize=100)

        async def pump(name: str, cursor: int) -> None:
            try:
                while True:
                    # A cursor outlives the keeper that gave it: the next one goes on where the last one ended.
                    page = await self._supervisor.insist(
                        team,
                        lambda keeper, after=cursor: keeper.read_log(  # type: ignore[misc]
                            team=team, agent=name, after=after, lines=None, since=None, wait=True
                        ),
                        [name],
                    )
                    cursor = page.next
                    for entry in page.entries:
                        await queue.put(LoggedOutput(team=team, agent=name, time=entry.time, text=entry.text))
            except CorralError as error:
                await queue.put(error)

        pumps = [asyncio.create_task(pump(name, cursor)) for name, cursor in cursors.items()]
        try:
            while True:
                piece = await queue.get()
                if isinstance(piece, CorralError):
                    raise piece
                yield piece
        finally:
            for task in pumps:
                task.cancel()

    async def _remove_one(self, who: Who, agent: Agent, occupied: Mapping[str, str], *, discard: bool) -> AgentRemoved:
        keeper = await self._supervisor.keepers.of(agent.team).open()
        kept, detail = None, ""
        if agent.workspace_kind == "worktree":
            team = self._registry.teams[agent.team]
            somebody = occupied.get(os.path.realpath(agent.workspace), "")
            removal = await worktrees.take_away(
                self._context, keeper, agent.workspace,
                team=agent.team, agent=agent.name, repo=team.repo, occupied=occupied, discard=discard,
                guest=guest_of(team, agent),
            )  # fmt: skip
            # Whoever is there is named also if it was taken from under them.
            detail = "; ".join(dict.fromkeys(why for why in (removal.why, somebody) if why))
            kept = agent.workspace if not removal.removed and removal.why else None
        event = NewEvent(
            event="agent.removed", team=agent.team, agent=agent.name, data={"kept": kept, "detail": detail}
        )
        await self._registry.commit(who, drop_agents=[agent.key], events=[event])
        return AgentRemoved(agent=agent.name, removed=True, kept=kept, detail=detail)

    async def _journal(self, who: Who, agent: Agent, event: str, outcome: str, data: dict[str, object]) -> None:
        """Tell what was done. It counts also if the store cannot take it now: called failed, it would be repeated."""
        entry = NewEvent(event=event, team=agent.team, agent=agent.name, outcome=outcome, data=data)
        await self._registry.observe((), [entry], who)

    def _done(self, team: str, names: Sequence[str], tell: Tell, step: str) -> list[AgentDone]:
        outcomes = []
        for done, name in enumerate(names, 1):
            agent = self._registry.agent(team, name)
            failed = agent.state == states.FAILED
            waits = agent.state == states.PENDING
            now = "failed" if failed else "pending" if waits else step
            tell(Progress(agent=name, step=now, detail=agent.reason, done=done, of=len(names)))
            outcomes.append(AgentDone(agent=name, state=agent.state, detail=agent.reason))
        return outcomes
