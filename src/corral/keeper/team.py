"""What a keeper does for one team: its runtime, its recorders, its processes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from corral.agents import catalogue
from corral.agents.profile import Profile
from corral.background import Background
from corral.domain import lifecycle
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.last_output import SKIPPED
from corral.domain.limits import Limits
from corral.domain.shared_sessions import Company
from corral.domain.terminals import TMUX
from corral.failpoint import point
from corral.keeper.activity import TeamActivity
from corral.keeper.checks import TeamChecks
from corral.keeper.containing import Containing, Level
from corral.keeper.dialogs import TeamDialogs
from corral.keeper.gates import TeamGates
from corral.keeper.last_words import last_screen, last_words
from corral.keeper.notices import TeamNotices
from corral.keeper.processes import TeamProcesses
from corral.keeper.readiness import Readiness
from corral.keeper.ready_rules import RuleWatches
from corral.keeper.ready_sight import eyes
from corral.keeper.recorder import Recorders
from corral.keeper.recordings import TeamRecordings
from corral.keeper.runtimes import Runtimes, Views
from corral.keeper.secrets import TeamSecrets, masked_text
from corral.keeper.session_orders import session_order
from corral.keeper.sessions import TeamSessions
from corral.keeper.survivors import Survivors
from corral.keeper.told_records import TeamRecords
from corral.keeper.tools import HostTools
from corral.keeper.typing import Typist
from corral.ports.casts import RecordingOrder
from corral.ports.notices import NOTICE_PREFIX, NOTICES
from corral.ports.output import LogPage, TerminalShown
from corral.ports.reports import Degraded, KeyboardChanged, Report, RunExited, RunReady, ServerChanged
from corral.ports.runs import Ended, ExitStatus, Inventory, Launch, ReadyOrder, Run, Started, TeamOrder
from corral.ports.runtime import Session, SessionOrder
from corral.ports.usage import Usage

log = logging.getLogger("corral.keeper")


class TeamKeeper:
    """Drives one team on this host. `report` carries what happens by itself to whoever listens."""

    def __init__(self, tools: HostTools, team: str, report: Callable[[Report], None]) -> None:
        self._tools = tools
        self._team = team
        self._report = report
        self._launches = tools.launches(team)
        self._secrets = TeamSecrets(self._launches.environment_of, self._launches.credential_of)
        self._recorders = Recorders(partial(tools.log, team), self._secrets.masker, self._wrote, self._degraded)
        self._agents: dict[str, str] = {}  # run -> agent
        #: Runs that this keeper started, or found and has taken over.
        self._taken_over: set[str] = set()
        #: Runs that are being started at this moment.
        self._on_the_way: set[str] = set()
        self._readiness = Readiness(self._ready)
        self._background = Background()
        #: Held by whoever gives something a place among the units and cgroups: the first of a team makes the team's.
        self._housing = asyncio.Lock()
        self.processes = TeamProcesses(tools, team, self._launches, report)
        self.gates = TeamGates(tools, team, self._launches, self.processes)
        self.notices = TeamNotices(
            TeamGates(tools, team, self._launches, self.processes, place=NOTICES, prefix=NOTICE_PREFIX)
        )
        self.checks = TeamChecks(self.processes)
        self._runtime = Runtimes(
            tools.runtime(team, self), tools.process_runtime(team, self.processes.hosted, self._launches, self)
        )
        self._rules = RuleWatches(eyes(tools, team, self._launches, self._runtime, self.checks), self._ready)
        self._activity = TeamActivity(team, self._runtime, report)
        self.records = TeamRecords(team, tools.transcripts, self._launches.environment_of, report)
        self.typist = Typist(self._runtime, self._profile_of_run, self._keyboard_changed)
        self.dialogs = TeamDialogs(self._runtime, self._profile_of_run, self.typist.is_typing)
        self.recordings = TeamRecordings(team, tools.casts, self._secrets.of, self._runtime.picture, self._degraded)
        self.sessions = TeamSessions(team, self._runtime, self._agent_of, self._company_changed)
        self._survivors = Survivors(tools.containment, team, self._background)
        self._containing = Containing(tools.containment, team, self._launches, self._runtime, self._degraded)
        #: False once the team's servers are known to be gone: nothing of the team needs this keeper.
        self.up = False

    # Looking

    async def inventory(self) -> Inventory:
        """Everything of the team that can be seen; starts nothing."""
        view = await self._runtime.view()
        self.up = view.presence != "absent"
        found = [session for session in view.sessions if session.run not in self._taken_over]
        for session in found:
            self._taken_over.add(session.run)
            self._agents[session.run] = session.agent
            if session.terminal:
                screen = await last_screen(self._runtime, session.run)
                self._recorders.of(session.agent).taken_over(screen, over=session.dead)
        alive = [session for session in view.sessions if session.terminal and not session.dead]
        self._activity.follow(alive, lambda session: self._launches.command_of(session.agent, session.run))
        must_not = await self._containing.go_on_with(found)
        if must_not:
            await self.stop(must_not, 0, spare=True)
        # Whoever asked for these may be dead: then nobody else tells what their programs are.
        await self._runtime.find_programs([session for session in view.sessions if session.run in self._on_the_way])
        runs = [await self._describe(session) for session in view.sessions if session.run not in must_not]
        await self._calm([session for session in found if session.dead])
        return Inventory(
            team=self._team,
            server=view.terminals.presence,
            server_pid=view.terminals.server_pid,
            runs=runs,
            why=view.terminals.why,
            host=view.plain.presence,
            host_why=view.plain.why,
            survivors=await self._survivors_of(view),
            processes=await self.processes.counts() if view.plain.presence != "unknown" else {},
        )

    async def screen(self, run: str) -> TerminalShown:
        """What a run's terminal shows."""
        shown = (await self._runtime.screens([run])).get(run)
        if shown is None:
            return TerminalShown(lines=await self._runtime.screen(run))
        return TerminalShown(lines=shown.lines, title=shown.title)

    async def last_key(self) -> float | None:
        """Seconds since somebody who is attached last typed; None if nobody is."""
        return await self._runtime.last_key()

    async def attach_command(self, run: str, *, read_only: bool) -> list[str]:
        """The argv that joins a run's terminal."""
        await self._agent_of(run)
        return await self._runtime.attach_command(run, read_only=read_only)

    async def read_log(
        self, agent: str, *, after: int | None, lines: int | None, since: float | None, wait: bool
    ) -> LogPage:
        """A page of an agent's output."""
        return await self._recorders.of(agent).read(after=after, lines=lines, since=since, wait=wait)

    def record(self, order: RecordingOrder) -> None:
        """See `Recordings.record`."""
        if self._secrets.names != order.masked:
            self._secrets.names = order.masked
            self._recorders.mask_anew()
        self.recordings.configure(order)

    # Starting

    async def prepare(self, order: TeamOrder) -> None:
        """Have a tmux server, ahead of `start`."""
        self._containing.gated(order)
        self.up = True
        self.notices.begin()
        await self._runtime.prepare_terminals(left_alone=order.left_alone)

    async def start(self, launches: Sequence[Launch], order: TeamOrder) -> Started:
        """Start the runs in one go, also while others are started; each part of a large team is one such go.

        What cannot be launched at all is an outcome of its own, not an error.
        """
        runs = {launch.run for launch in launches}
        self._on_the_way |= runs
        try:
            return await self._start(launches, order)
        finally:
            self._on_the_way -= runs

    async def _start(self, launches: Sequence[Launch], order: TeamOrder) -> Started:
        gated = self._containing.gated(order)
        self.up = True
        self.notices.begin()
        problems: dict[str, str] = {}
        outcomes: dict[str, Session | str] = {}
        async with self._housing:
            if any(launch.terminal == TMUX for launch in launches):
                await self._runtime.prepare_terminals(left_alone=order.left_alone)
            point("keeper.server_started")
            await self._containing.shelter_server(order)
            point("keeper.server_sheltered")
        for terminal in (True, False):
            if meant := [launch for launch in launches if (launch.terminal == TMUX) is terminal]:
                orders = self._orders(meant, order, problems, gated=gated)
                outcomes.update(await self._runtime.start(orders, terminal=terminal))
        sessions = [outcome for outcome in outcomes.values() if isinstance(outcome, Session)]
        point("keeper.sessions_started")
        commands = {launch.run: (tuple(launch.command), launch.shell) for launch in launches}
        self._activity.follow(
            [session for session in sessions if session.terminal], lambda session: commands[session.run]
        )
        limits = {launch.run: launch.limits for launch in launches}
        async with self._housing:
            await self.processes.shelter()
            refused, notes = await self._containing.admit(sessions, limits, order)
        if refused:
            await self.stop({run: self._agents[run] for run in refused}, 0, spare=True)
            problems.update(refused)
        point("keeper.gates_opened")
        await self._runtime.find_programs([session for session in sessions if session.run not in refused])
        self._containing.passed(sessions)
        point("keeper.programs_found")
        runs = []
        for launch in launches:
            outcome = problems.get(launch.run) or outcomes[launch.run]
            if isinstance(outcome, str):
                self._not_ready(launch.run)
                runs.append(Run(agent=launch.agent, run=launch.run, alive="absent", problem=outcome))
                continue
            if launch.watch_ready and launch.terminal != TMUX:
                self.watch_ready(launch.ready_order)
            runs.append(await self._describe(outcome))
        return Started(runs=runs, notes=notes)

    def over(self, runs: Mapping[str, str]) -> list[str]:
        """Those whose programs have ended, tmux and everybody else still unaware of it."""
        return [run for run, agent in runs.items() if self._launches.exit_code(agent, run) is not None]

    def keep_environments(self, environments: Mapping[str, Mapping[str, str]]) -> None:
        """Keep what agents will be started with; see `Keeper.keep_environments`."""
        for agent, environment in environments.items():
            self._launches.keep_environment(agent, environment)

    def watch_ready(self, order: ReadyOrder) -> None:
        """Report when the run is ready. What is written to a pipe waits there until it is read."""
        run = order.run
        if order.rule:
            self._rules.watch(order, self._agents[run])
            return
        if not self._runtime.has_terminal(run):
            self._readiness.found(run, "it runs, and has no terminal")
            return
        profile = self._profile(self._agents[run], run)
        self._readiness.watch(run, profile.ready if profile else (), lambda: self._runtime.screen(run))

    def _orders(
        self, launches: Sequence[Launch], order: TeamOrder, problems: dict[str, str], *, gated: bool
    ) -> Iterator[SessionOrder]:
        """One for each launch, made when it is asked for; `problems` gets why there is none for a run."""
        for launch in launches:
            self._agents[launch.run] = launch.agent
            self._taken_over.add(launch.run)
            try:
                note = self._containing.note(launch, order)
                wanted = session_order(self._tools, self._launches, launch, note, gated=gated)
            except (OSError, CorralError) as error:
                problems[launch.run] = error.message if isinstance(error, CorralError) else str(error)
                continue
            self._recorders.of(launch.agent).started()
            self.recordings.started(launch.run)
            if launch.watch_ready and launch.terminal == TMUX:
                self.watch_ready(launch.ready_order)
            yield wanted
        point("keeper.launch_files_written")

    # Holding

    async def freeze(self, runs: Sequence[str], *, frozen: bool) -> None:
        """Keep the runs from running with everything they started, or let them run again."""
        agents = {run: await self._agent_of(run) for run in runs}
        await self._tools.containment.freeze(self._team, agents, frozen=frozen)

    async def limit(self, limits: dict[str, Limits], team_limits: Limits) -> list[str]:
        """Change what agents that run, and the team, may use."""
        return await self._tools.containment.limit(self._team, limits, team_limits)

    async def usage(self) -> list[Usage]:
        """What the agents use now."""
        return await self._tools.containment.usage(self._team)

    # Ending

    async def stop(self, agents: Mapping[str, str], grace: float, *, spare: bool) -> Ended:
        """End the runs (run → agent) with everything they started, then take their terminals away.

        With `spare`, processes that were started for the agents go on.
        """
        runs = list(agents)
        for run in runs:
            self._not_ready(run)
        wanted = set(runs)
        view = await self._runtime.view()
        self._runtime.unwatch(runs)
        roots = [session.terminal_pid for session in view.sessions if session.run in wanted and not session.dead]
        roots += self._runtime.guests(runs)
        ended = await self._tools.containment.end_runs(self._team, agents, roots, grace, spare=spare)
        point("keeper.runs_ended")
        exits = await self._runtime.exits(runs)
        await self._runtime.remove(runs)
        point("keeper.terminals_removed")
        for run in runs:
            self._containing.levels.pop(run, None)
            self._activity.ended(run)
            self.records.ended(run)
            self._taken_over.discard(run)
            if self._agents.pop(run, None) is not None:
                self._recorders.of(agents[run]).ended()
            self.typist.forget(run)
            self.recordings.ended(run)
            # Also if an earlier keeper started it.
            self._launches.forget_run(agents[run], run)
        return msgspec.structs.replace(ended, exits=exits)

    async def take_down(self, grace: float) -> Ended:
        """End every process of the team and its servers, and wait until they are gone."""
        self._readiness.cancel_all()
        self._rules.cancel_all()
        self._activity.close()
        self.records.close()
        self.up = False
        self.notices.stop()
        view = await self._runtime.view()
        runs = [session.run for session in view.sessions]
        self._runtime.unwatch(runs)
        ended = await self._tools.containment.end_team(self._team, grace)
        point("keeper.team_ended")
        exits = await self._runtime.exits(runs) if runs else {}
        await self._runtime.end(view)
        await self.notices.ended()
        await self.processes.end_server()
        self._recorders.close_all()
        self.recordings.close()
        point("keeper.server_ended")
        await self._tools.containment.forget_team(self._team)
        point("keeper.team_forgotten")
        self._launches.forget_team()
        self._agents.clear()
        self._taken_over.clear()
        self._containing.levels.clear()
        return msgspec.structs.replace(ended, gone=list(exits), exits=exits)

    async def forget_agent(self, agent: str) -> None:
        """Drop what is kept for an agent that was removed."""
        await self.processes.forget_agent(agent)
        self.checks.forget(agent)
        self._launches.forget_agent(agent)
        self._recorders.close(agent)

    def close(self) -> None:
        """Let go of everything; nothing ends by it."""
        self._readiness.cancel_all()
        self._rules.cancel_all()
        self._activity.close()
        self.records.close()
        self.typist.close()
        self.sessions.close()
        self.recordings.close()
        self._recorders.close_all()
        self._background.cancel()
        self._runtime.close()
        self.processes.close()

    # RuntimeListener

    def output(self, run: str, data: bytes, end: int | None = None) -> None:
        """The program of a run wrote something."""
        agent = self._agents.get(run)
        if agent is not None:
            recorder = self._recorders.of(agent)
            shown = recorder.add(data, None if end is None else (run, end))
            if self.recordings.on and end is None and shown:
                self.recordings.output(agent, run, recorder.last_output or 0.0, shown)
            if not self._runtime.has_terminal(run):
                self.records.output(agent, run, data, lambda: self._profile(agent, run))
        self._activity.output(run)
        self._readiness.output(run)
        self._rules.output(run, data)
        self.typist.output(run)

    def recorded(self, agent: str, run: str) -> int:
        """How much of the output of a run without a terminal is recorded; what follows is given right away."""
        self._agents[run] = agent
        return self._recorders.of(agent).recorded(run)

    def output_lost(self, run: str) -> None:
        """Output was skipped because this keeper was too slow; the log says so where it happened."""
        agent = self._agents.get(run)
        if agent is not None:
            self._recorders.of(agent).add(f"\r\n{SKIPPED}\r\n".encode())

    def resized(self, run: str, columns: int, rows: int) -> None:
        """The terminal of a run has another size."""
        self.recordings.resized(run, columns, rows)

    def exited(self, session: Session) -> None:
        """The program of a run ended."""
        self._not_ready(session.run)
        self._activity.ended(session.run)
        self.records.ended(session.run)
        self.typist.ended(session.run)
        self._background.spawn(self._report_exit(session))

    def server_changed(self, why: str) -> None:
        """The connection to tmux was lost, or tmux answers again: find out what that means, then tell."""
        self._background.spawn(self._report_server(why))

    async def _report_exit(self, session: Session) -> None:
        recorder = self._recorders.of(session.agent)
        if session.terminal:
            recorder.complete(await last_screen(self._runtime, session.run))
        recorder.ended()
        run = await self._describe(session)
        await self._calm([session])
        if session.terminal and session.exit == ExitStatus():
            view = await self._runtime.view()
            if view.terminals.presence == "absent":
                left = (await self._survivors_of(view) or {}).get(session.agent, 0)
                run = msgspec.structs.replace(run, problem=lifecycle.SERVER_GONE, survivors=left)
        self._report(RunExited(team=self._team, run=run))

    async def _calm(self, dead: Sequence[Session]) -> None:
        """Once it is known what they showed: those whose launch shell was killed could not do it themselves."""
        killed = [one for one in dead if one.terminal and self._launches.exit_code(one.agent, one.run) is None]
        if killed:
            try:
                await self._runtime.calm([session.run for session in killed])
            except CorralError as error:
                log.info("the terminals of killed agents stay as they are: %s", error.message)

    async def _report_server(self, why: str) -> None:
        if self.up:
            view = await self._runtime.view()
            self.up = view.presence != "absent"
            tmux = view.terminals
            self._report(ServerChanged(team=self._team, presence=tmux.presence, why=tmux.why or why))

    async def _survivors_of(self, view: Views) -> dict[str, int] | None:
        if view.terminals.presence != "absent":
            return None
        return await self._survivors.count(view.without_terminal)

    def _not_ready(self, run: str) -> None:
        self._readiness.cancel(run)
        self._rules.cancel(run)

    def _ready(self, run: str, evidence: str) -> None:
        self._report(RunReady(team=self._team, agent=self._agents[run], run=run, evidence=evidence))

    def _keyboard_changed(self, run: str) -> None:
        if run in self._agents:
            self._report(KeyboardChanged(team=self._team, agent=self._agents[run], run=run))

    def _company_changed(self, run: str, before: Company, now: Company) -> None:
        """Others are at the terminal of a run than before: whoever replays it finds the place."""
        for seat in now.seats:
            if before.seat(seat.id) is None:
                self.recordings.marked(run, f"{seat.name} joined ({seat.mode})")
        for seat in before.seats:
            if now.seat(seat.id) is None:
                self.recordings.marked(run, f"{seat.name} left")

    # Helpers

    async def _agent_of(self, run: str) -> str:
        """The agent whose run it is; a keeper that has just come looks first."""
        if run not in self._agents:
            await self.inventory()
        agent = self._agents.get(run)
        if agent is None:
            raise NotFoundError("the agent does not run", "corral restart starts it again")
        return agent

    async def _profile_of_run(self, run: str) -> Profile | None:
        return self._profile(await self._agent_of(run), run)

    def _profile(self, agent: str, run: str) -> Profile | None:
        command = self._launches.command_of(agent, run)
        return catalogue.for_command(*command) if command else None

    def _degraded(self, agent: str, why: str) -> None:
        self._report(Degraded(team=self._team, agent=agent, why=why))

    def _wrote(self, agent: str, word: str, at: float) -> None:
        run = next((run for run, name in reversed(self._agents.items()) if name == agent), "")
        self._activity.wrote(agent, run, word, at)

    async def _last_words(self, session: Session) -> str:
        """They are written down and told to others, so they are without secrets."""
        return masked_text(await last_words(self._runtime, session.run), self._secrets.of(session.agent))

    async def _describe(self, session: Session) -> Run:
        recorder = self._recorders.of(session.agent)
        level = self._containing.levels.get(session.run, Level(""))
        does = self._activity.of(session.run, recorder.activity)
        return Run(
            agent=session.agent,
            run=session.run,
            pid=session.pid,
            alive="absent" if session.dead else "present",
            exit=session.exit,
            last_output=recorder.last_output,
            last_news=self._activity.news_at(session.run) or recorder.last_output,
            activity=does.activity,
            activity_about=does.about,
            activity_rule=does.rule,
            activity_dialog=does.dialog,
            activity_at=does.at,
            told=self.records.of(session.run),
            last_words=await self._last_words(session) if session.dead else "",
            oom_kills=self._launches.oom_kills(session.agent, session.run) if session.dead else 0,
            containment=level.name,
            containment_why=level.why,
            cgroup=level.cgroup,
        )
