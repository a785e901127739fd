"""The doing of `corral up`: records first, then workspaces, then all sessions in one go."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from corral.agents.catalogue import for_command
from corral.background import both
from corral.domain import plan, repository, states
from corral.domain.conversations import carried_over
from corral.domain.environment import agent_environment, ambient_environment
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.foreign_words import as_told_to, own_remedy, told_error
from corral.domain.merge_rules import settled
from corral.domain.plan import Step
from corral.domain.port_blocks import Block, variables
from corral.domain.records import Agent, NewEvent, Team, Who
from corral.domain.spec import SHARED, WORKTREE, AgentSpec, TeamSpec
from corral.domain.terminals import TMUX
from corral.failpoint import point
from corral.own_command import own_program
from corral.ports.keeper import Keeper
from corral.ports.workspace import Workspace
from corral.service.context import Context
from corral.service.port_blocks import PortBlocks
from corral.service.progress import Progress, Tell
from corral.service.registering import register
from corral.service.team_names import taken
from corral.service.up_access import refuse_unenforced
from corral.service.up_users import check_users, environments_of
from corral.service.worktrees import guard, path_of, prepare
from corral.supervise.supervisor import DEFAULT_GRACE

#: A program that cannot start is mostly gone, and that known, after this long.
_SETTLE_SECONDS = 0.2
#: So many take as long to be started: then most have had their time, and nothing is waited for.
_MANY = 50
#: How long to wait for the exit codes of programs that are known to have ended.
_ENDING_SECONDS = 3.0


def _going_on(before: Agent, after: Agent) -> Agent:
    """An agent that is declared anew goes on with its conversation, if it still has the same program."""
    programs = [for_command(agent.command, agent.shell) for agent in (before, after)]
    return carried_over(before, after, same_program=programs[0] == programs[1])


class UpWork:
    """One `up` that has something to do. The caller holds the team's lock."""

    def __init__(
        self,
        context: Context,
        ports: PortBlocks,
        who: Who,
        team: TeamSpec,
        prints: Mapping[str, dict[str, str]],
        environment: Mapping[str, str],
        tell: Tell,
        total: int,
    ) -> None:
        self._context = context
        self._ports = ports
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._store = context.store
        self._places = context.places
        self._now = context.now
        self._who = who
        self._team = team
        self._prints = prints
        self._environment = environment
        self._tell = tell
        self._total = total
        self._done = 0
        self._restarting: list[str] = []
        self._blocks: dict[str, Block] = {}
        #: The branch that the repository's HEAD names.
        self._head = ""
        #: Where git keeps the repository.
        self._repository = ""
        self._ignore_case = False
        #: What a person should know besides.
        self.notes: list[str] = []
        #: agent → what helps, for those that failed before they were started.
        self.remedies: dict[str, str] = {}

    async def do(self, steps: Sequence[Step]) -> None:
        """Do the plan."""
        wanted = {step.agent for step in steps if step.action in (plan.START, plan.RESTART)}
        declared = {agent.name: (position, agent) for position, agent in enumerate(self._team.agents)}
        chosen = [declared[name][1] for name in declared if name in wanted]
        self._restarting = [step.agent for step in steps if step.action == plan.RESTART]
        if self._restarting:
            await self._registry.must_take(self._team.name, self._restarting)
            for name in self._restarting:
                self._step(name, "stopping")
            await self._supervisor.stop(self._team.name, self._restarting, DEFAULT_GRACE, self._who)
        # Which ports are free is seen on the host, while the team and its agents are written down.
        try:
            keeper, self._blocks = await both(
                self._write_down([declared[agent.name] for agent in chosen]), self._allocated(chosen)
            )
        except CorralError:
            # What nobody has who is written down is nobody's.
            known = self._registry.of_team(self._team.name)
            await self._ports.free(self._who, self._team.name, wanted - known.keys())
            raise
        ready = await self._workspaces(keeper, await self._with_ports(chosen))
        point("daemon.workspaces_ready")
        if ready:
            await self._start(ready)

    async def check(self, names: Sequence[str], person_of: Callable[[str], str] | None = None) -> None:
        """Refuse what this host or the repository cannot carry of these agents, before anything is made.

        `person_of` says whose an OS user is, where that is written down.
        """
        agents = [agent for agent in self._team.agents if agent.name in names]
        await check_users(self._context, self._team, agents, person_of)
        link = self._supervisor.keepers.of(self._team.name)
        keeper = await link.open()
        refuse_unenforced(self._team, agents, link.hello.obstacles)
        if self._team.repo is not None:
            seen = await keeper.repository(self._team.repo)
            self.notes += repository.check(self._team, agents, seen)
            self._head = seen.branch
            self._repository = seen.common
            self._ignore_case = seen.ignore_case

    async def _write_down(self, agents: Sequence[tuple[int, AgentSpec]]) -> Keeper:
        """Write down the team and its agents, before anything is made for them. With the team known, its keeper makes
        ready while the agents are written down.
        """
        team = self._declared_team(agents)
        await self._registry.commit(self._who, teams=[team], put_items=taken(team.name, team.user))
        point("daemon.team_written")
        keeper = await self._supervisor.keepers.of(self._team.name).open()
        if any(agent.terminal == TMUX for _, agent in agents):
            self._supervisor.prepare(self._team.name, keeper)
            await asyncio.sleep(0)  # it is on its way before anything else takes time
        records = self._declared_agents(agents)
        data: dict[str, object] = {"file": self._team.file, "agents": [record.name for record in records]}
        await self._registry.commit(
            self._who, agents=records, events=[NewEvent(event="team.up", team=self._team.name, data=data)]
        )
        point("daemon.declared")
        return keeper

    def _declared_team(self, agents: Sequence[tuple[int, AgentSpec]]) -> Team:
        team = self._registry.teams.get(self._team.name) or Team(
            name=self._team.name,
            file=self._team.file,
            directory=self._team.directory,
            repo=self._team.repo,
            user=self._supervisor.keepers.owner(self._team.name),
            created_at=self._now(),
        )
        return replace(
            team,
            repo=self._team.repo,
            repository=self._repository,
            ignore_case=self._ignore_case,
            systemd=self._team.systemd,
            limits=self._team.limits,
            processes=self._team.processes,
            leases=self._team.leases,
            ports=self._team.ports,
            enforcement=self._team.enforcement,
            supervision=self._team.supervision,
            notify=self._team.notify,
            recording=self._team.recording,
            group_access=self._team.group_access,
            agent_users=tuple(dict.fromkeys([*team.agent_users, *(one.run_as for _, one in agents if one.run_as)])),
            merge=settled(self._team.merge, team.merge, self._head),
        )

    def _declared_agents(self, agents: Sequence[tuple[int, AgentSpec]]) -> list[Agent]:
        """The team is written down."""
        team = self._registry.teams[self._team.name]
        known = self._registry.of_team(self._team.name)
        records = []
        for position, agent in agents:
            kind = agent.workspace if agent.workspace in (WORKTREE, SHARED) else "directory"
            path = agent.workspace
            if kind == WORKTREE:
                path = path_of(self._context, self._team.name, agent.name, agent.run_as)
            elif kind == SHARED:
                path = self._team.base
            base = known.get(agent.name)
            record = Agent(
                team=self._team.name,
                name=agent.name,
                position=position,
                command=agent.command,
                shell=agent.shell,
                workspace_kind=kind,
                workspace=path,
                restart=agent.restart,
                prompt=agent.prompt,
                fingerprint=dict(self._prints[agent.name]),
                limits=agent.limits,
                terminal=agent.terminal,
                stdin=agent.stdin,
                declared_as=agent.declared_as,
                labels=agent.labels,
                bind=agent.bind,
                access=agent.access,
                kind=agent.kind,
                ready_when=agent.ready,
                after=agent.after,
                mcp=agent.mcp,
                hooks=agent.hooks,
                upkeep=agent.upkeep,
                run_as=agent.run_as,
                user=agent.run_as or team.user,
                state=states.PENDING,
                since=self._now(),
            )
            # The last run is remembered until its terminal is cleared away for the next one.
            if base:
                # One that waits to be started keeps its place in line.
                place = base.place if base.state == states.PENDING else None
                record = _going_on(base, replace(record, run=base.run, place=place, asked_by=base.asked_by))
            records.append(record)
        return records

    async def _allocated(self, agents: Sequence[AgentSpec]) -> dict[str, Block]:
        """A block of ports for each that there is one for, on the disk. After a crash, those of agents that are not
        written down are free again (`PortBlocks.settle`).
        """
        wanted = {agent.name: agent.ports for agent in agents}
        survey = await self._ports.survey(self._team.name, self._team.ports, wanted)
        blocks = await self._ports.allocate(
            self._who, self._team.name, self._team.ports, wanted, survey, user=self._who.user
        )
        point("daemon.ports_allocated")
        return blocks

    async def _with_ports(self, agents: Sequence[AgentSpec]) -> list[AgentSpec]:
        """Those that have a block of ports; those that nothing is left for are failed and left out."""
        pool = self._team.ports
        for name in [agent.name for agent in agents if agent.name not in self._blocks]:
            await self._fail(
                self._registry.agents[self._team.name, name], self._ports.nothing_left(self._who.user, pool)
            )
        return [agent for agent in agents if agent.name in self._blocks]

    async def _workspaces(self, keeper: Keeper, agents: Sequence[AgentSpec]) -> list[AgentSpec]:
        """Prepare a workspace for each; those that could not get one are failed and left out."""
        ready = []
        events: list[NewEvent] = []
        prepared: dict[str, Workspace | CorralError] = {}
        for agent in agents:
            record = self._registry.agents[self._team.name, agent.name]
            workspace = prepared.get(record.workspace)
            if workspace is None:
                workspace = prepared[record.workspace] = await self._prepare(keeper, record)
            if isinstance(workspace, CorralError):
                await self._fail(record, workspace)
                continue
            if workspace.created or workspace.note:
                self._step(agent.name, "workspace", workspace.note or workspace.path)
                if workspace.note:
                    self.notes.append(f"{agent.name}: {workspace.note}")
                events.append(
                    NewEvent(
                        event="workspace.ready",
                        team=self._team.name,
                        agent=agent.name,
                        data={"path": workspace.path, "branch": workspace.branch, "note": workspace.note},
                    )
                )
            self.notes += await register(keeper, record)
            ready.append(agent)
        if events:
            await self._registry.commit(self._who, events=events)
        return ready

    async def _prepare(self, keeper: Keeper, record: Agent) -> Workspace | CorralError:
        try:
            workspace = await prepare(self._context, keeper, record, self._team.repo)
            if note := await guard(keeper, self._registry.teams[record.team], record):
                self.notes.append(f"{record.name}: {note}")
            return workspace
        except UnavailableError:
            raise
        except CorralError as error:
            return error

    async def _fail(self, record: Agent, error: CorralError) -> None:
        why = told_error(error)
        failed = replace(record, state=states.FAILED, since=self._now(), reason=why)
        await self._registry.commit(
            self._who,
            agents=[failed],
            events=[
                NewEvent(
                    event="agent.failed",
                    team=record.team,
                    agent=record.name,
                    outcome="failed",
                    data={"reason": why, "remedy": own_remedy(error)},
                )
            ],
        )
        told = as_told_to(error, self._who.user)
        self.remedies[record.name] = told.remedy
        self._done += 1
        self._step(record.name, "failed", told.message)

    async def keep_environments(self, names: Sequence[str]) -> None:
        """Have what agents need that are not started now: whoever starts them later has no environment to give.

        After a reboot there is none from before.
        """
        agents = [agent for agent in self._team.agents if agent.name in names]
        if not agents:
            return
        keeper = await self._supervisor.keepers.of(self._team.name).open()
        given = await self._ports.allocate(
            self._who,
            self._team.name,
            self._team.ports,
            {agent.name: agent.ports for agent in agents},
            user=self._who.user,
        )
        self._blocks = {**self._blocks, **given}
        able = [agent for agent in agents if agent.name in given]
        await keeper.keep_environments(self._team.name, await self._environments(able))
        for agent in able:
            reason = self._registry.agents[self._team.name, agent.name].reason
            self.notes.append(f"{agent.name} stays stopped: {reason}")

    async def _environments(self, agents: Sequence[AgentSpec]) -> dict[str, dict[str, str]]:
        ambient, program = ambient_environment(self._environment), own_program()
        of_others = await environments_of(self._context, self._team.name, agents, self._environment)
        return {
            agent.name: agent_environment(
                of_others.get(agent.run_as, ambient),
                dict(agent.env),
                instance=self._store.instance,
                home=self._places.home,
                runtime=self._places.runtime,
                team=self._team.name,
                agent=agent.name,
                ports=variables(self._blocks[agent.name], agent.ports),
                unreachable=self._team.enforcement.unreachable,
                program=program,
            )
            for agent in agents
        }

    async def _start(self, agents: Sequence[AgentSpec]) -> None:
        team = self._team.name
        environments = await self._environments(agents)
        names = [agent.name for agent in agents]
        # Begun before it is told of: who is told has time, and who waits for agents has none.
        starting = asyncio.create_task(self._supervisor.line.request(team, names, self._who, environments))
        for name in names:
            self._step(name, "starting")
        self.notes.extend(await starting)
        started = [agent.name for agent in agents if self._registry.agents[team, agent.name].state != states.PENDING]
        if started:
            # From when they run: on a busy machine it can take as long as that until they do.
            await asyncio.sleep(max(0.0, _SETTLE_SECONDS * (1 - len(started) / _MANY)))
            await self._be_told(await self._over(team, started))
        for agent in agents:
            record = self._registry.agents[team, agent.name]
            self._done += 1
            failed = record.state in (states.FAILED, states.BACKOFF)
            done = "restarted" if agent.name in self._restarting else "started"
            waits = record.state == states.PENDING
            self._step(agent.name, "pending" if waits else "failed" if failed else done, record.reason)

    async def _over(self, team: str, agents: Sequence[str]) -> list[str]:
        """Those whose programs have ended by now: their files say so before tmux and the supervisor know."""
        runs = {self._registry.agents[team, agent].run: agent for agent in agents}
        keeper = await self._supervisor.keepers.of(self._team.name).open()
        return [runs[run] for run in await keeper.over(team, runs)]

    async def _be_told(self, names: Sequence[str]) -> None:
        """Wait until it is known how these ended; not for long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                while any(self._registry.agents[self._team.name, name].state == states.RUNNING for name in names):
                    await self._registry.journal_growth()

    def _step(self, agent: str, step: str, detail: str = "") -> None:
        self._tell(Progress(agent=agent, step=step, detail=detail, done=self._done, of=self._total))
