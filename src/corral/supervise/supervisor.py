"""The loop: what keepers report becomes records (`observe`), and what follows from the records is done.

Every action on a team is done under that team's lock, one at a time: two `up`s are one, and a restart by policy never
meets a stop by a person half-way. An intent is written down before it is acted on, so that whoever comes after a crash
knows what may have been begun.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from corral.background import Background
from corral.domain import lifecycle, states
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.moments import Moment
from corral.domain.recording import NO_TERMS, RecordingTerms
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Who
from corral.failpoint import point
from corral.ports.keeper import Keeper
from corral.ports.reports import (
    ActivityChanged,
    BranchesMoved,
    Degraded,
    KeyboardChanged,
    ProcessCount,
    ProcessEnded,
    RecordsSaid,
    Report,
    RunExited,
    RunReady,
    ServerChanged,
)
from corral.ports.runs import Ended, Inventory, Launch, Started, TeamOrder
from corral.supervise import observe
from corral.supervise.activity import Activities
from corral.supervise.conversations import Conversations
from corral.supervise.keepers import Connect, Keepers
from corral.supervise.launching import Launching
from corral.supervise.line import Line
from corral.supervise.link import insist
from corral.supervise.looking import Looking
from corral.supervise.observe import Findings
from corral.supervise.outcomes import Outcomes, event_of
from corral.supervise.profile_problems import ProfileProblems
from corral.supervise.prompts import Prompts
from corral.supervise.recording import RecordingOrders
from corral.supervise.registry import Registry
from corral.supervise.restarting import Restarting
from corral.supervise.transcripts import FollowedTranscripts

log = logging.getLogger("corral.daemon")
_T = TypeVar("_T")

#: Seconds between asking an agent to end and ending it by force.
DEFAULT_GRACE = 5.0
#: How long a new daemon waits to have seen its teams before it takes requests; tmux has 5 s to answer.
_FIRST_LOOK_SECONDS = 8.0


class Supervisor:
    """Keeps agents as their records say."""

    def __init__(
        self,
        registry: Registry,
        connect: Connect,
        now: Callable[[], float],
        clock: Callable[[], Moment] = Moment,
        *,
        shared: bool = False,
        recording: RecordingTerms = NO_TERMS,
        memory_pressure: Callable[[], float | None] = lambda: None,
    ) -> None:
        """`clock` says how long agents live; without one, nobody can tell. `shared`: see `Keepers`.

        `recording` is what whoever runs the instance says of it. `memory_pressure` is that of the host: see `Line`.
        """
        self._registry = registry
        self._now = now
        self._clock = clock
        self._locks: dict[str, asyncio.Lock] = {}
        self._reports: asyncio.Queue[Report] = asyncio.Queue()
        self._looking = Looking(registry, self.lock, self.reconcile, now)
        self._background = Background()
        self._restarting = Restarting(now, self._restart)
        self.keepers = Keepers(registry, connect, self._reports.put_nowait, self._keeper_lost, shared=shared)
        self._outcomes = Outcomes(registry, now, self.suspect)
        self.prompts = Prompts(registry)
        #: Told when it is worth another try to type a message that waits.
        self.on_keyboard: Callable[[KeyboardChanged], None] = lambda _: None
        #: Told when a branch moved in the repository of a team, or in a copy of it; and when its keepers were seen.
        self.on_branches: Callable[[str], None] = lambda _: None
        self.on_looked: Callable[[str], None] = lambda _: None
        #: Done before an agent is started again by policy; must not fail.
        self.before_restart: Callable[[Agent], Awaitable[None]] = _nothing_before
        self.line = Line(registry, self.keepers, self.lock, self.start, now, memory_pressure)
        self.conversations = Conversations(registry, self.keepers, now)
        self.activities = Activities(registry, now)
        self._transcripts = FollowedTranscripts(registry, self.keepers, self.conversations)
        self._profile_problems = ProfileProblems()
        self._recording = RecordingOrders(registry, recording)
        self._launching = Launching(
            registry, self.keepers, self.conversations, self._outcomes, self._launch, now, clock
        )

    async def begin(self) -> None:
        """Start the loop, and find again what an earlier daemon left running."""
        self._background.spawn(self._consume(), name="reports")
        self._looking.begin()
        looks = self._looking.everywhere()
        if looks:
            # A team whose tmux is silent must not keep the daemon from serving the others.
            await asyncio.wait(looks, timeout=_FIRST_LOOK_SECONDS)
        self.line.begin()

    async def end(self) -> None:
        """Stop the loop. Agents go on, and so does every keeper as long as a team needs it."""
        self._restarting.end()
        self.line.end()
        self._looking.end()
        self.conversations.end()
        self.activities.end()
        self._transcripts.end()
        self._background.cancel()
        await self._registry.save()
        connected = {user: link.connected for user, link in self.keepers.links.items()}
        idle = [one for user, one in connected.items() if one is not None and not self.keepers.teams_of(user)]
        # Beside each other: each may be silent for as long as the daemon has to end.
        await asyncio.gather(*map(_dismiss, idle))

    def lock(self, team: str) -> asyncio.Lock:
        """Held by whoever acts on the team."""
        return self._locks.setdefault(team, asyncio.Lock())

    # Acting; the caller holds the team's lock

    async def start(
        self, team: str, names: Sequence[str], who: Who, environments: Mapping[str, dict[str, str]] | None = None
    ) -> list[str]:
        """See `Launching.start`."""
        return await self._launching.start(team, names, who, environments)

    async def stop(
        self,
        team: str,
        names: Sequence[str],
        grace: float,
        who: Who,
        become: Callable[[Agent, float], Agent] = lifecycle.stopping,
    ) -> Ended:
        """End these agents with everything they started, also what a failed one left behind.

        `become` makes the record of one whose end is begun; what is to follow from it is in there.
        """
        for name in names:
            self._restarting.cancel((team, name))
        now = self._now()
        live, idle = [], []
        for name in names:
            agent = self._registry.agent(team, name)
            left = agent.state == states.FAILED or self._registry.processes.get(agent.key)
            if agent.state in states.LIVE or (agent.run and left):
                live.append(become(agent, now))
            elif agent.state != states.STOPPED:
                idle.append(lifecycle.stopped(become(agent, now), agent.exit_code, agent.exit_signal, now))
        # Observed and not only wanted: on a full disk, stopping the one who fills it must still be possible.
        await self._registry.observe(
            [*live, *idle],
            [
                *(event_of("agent.stopping", agent, reason=agent.reason or None) for agent in live),
                *(event_of("agent.stopped", agent, reason=agent.reason or None) for agent in idle),
            ],
            who,
        )
        point("daemon.stopping_written")
        runs = {agent.run: agent for agent in live if agent.run}
        if not runs:
            return Ended()
        named = {run: agent.name for run, agent in runs.items()}
        ended = await self.insist(team, lambda keeper: keeper.stop(team, named, grace, spare=False), names)
        point("daemon.stopped")
        for agent in await self._outcomes.stopped(team, runs, ended, who):
            if agent.state == states.BACKOFF:
                self._restarting.plan(agent)
        return ended

    async def reconcile(self, team: str, names: Collection[str] = ()) -> None:
        """Look at the team's host and bring the records in line. Raises UnavailableError if nobody answers.

        With `names`, those whose keepers have these agents are asked. Of a team of several users, what the keeper of
        one does not tell is not known, and no more than that.
        """
        self._profile_problems.tell()
        parts = self.keepers.parts(team, names)
        looks: list[tuple[str, Inventory]] = []
        for user, link in parts:
            try:
                keeper = await link.open()
                await self._recording.tell(keeper, team, user)
                looks.append((user, await keeper.inventory(team)))
            except CorralError as error:
                if len(parts) == 1:
                    raise
                log.warning("the agents of team %s that %s runs cannot be seen: %s", team, user, error.message)
                await self._follow(observe.lose_sight(self._run_by(user, team), error.message, self._now()))
        asked = {agent.name for user, _ in looks for agent in self._run_by(user, team)}
        running = {name: of for (of_team, name), of in self._registry.processes.items() if of_team == team}
        running = {name: count for name, count in running.items() if name not in asked}
        for user, inventory in looks:
            # Of what others run, a keeper knows nothing.
            own = {agent.name for agent in self._run_by(user, team)}
            for run in inventory.runs:
                if run.agent in own:
                    self._registry.last_news[team, run.agent] = run.last_news
                    self.activities.looked(team, run)
            running.update((name, count) for name, count in inventory.processes.items() if name in own)
        self._transcripts.looked(team)
        self.on_looked(team)
        self._registry.count_processes(team, running)
        for user, inventory in looks:
            await self._follow(observe.from_inventory(self._run_by(user, team), inventory, self._now(), said_by=user))

    def _run_by(self, user: str, team: str) -> list[Agent]:
        strangers = self.keepers.strangers(user, team)
        return [one for name, one in self._registry.of_team(team).items() if name not in strangers]

    async def be_certain(self, team: str, names: Collection[str] = ()) -> None:
        """Look first, and do nothing to a team, or to these agents of it, if nobody can tell whether they are alive."""
        if team not in self._registry.teams:
            return
        await self.reconcile(team, names)
        agents = [agent for name, agent in self._registry.of_team(team).items() if not names or name in names]
        unknown = [agent for agent in agents if agent.state == states.UNKNOWN]
        if unknown:
            self.suspect(team)
            raise UnavailableError(
                f"nobody can tell whether {unknown[0].name} is alive: {unknown[0].reason}",
                "try again when tmux answers; `corral down` ends what is provably ours in any case",
            )

    async def _launch(self, team: str, launches: list[Launch]) -> Started:
        order = self._order(team)

        names = [launch.agent for launch in launches]

        async def start(keeper: Keeper) -> Started:
            for user, link in self.keepers.parts(team, names):
                await self._recording.tell(await link.open(), team, user, is_new=True)
            return await keeper.start(team, launches, order)

        return await self.insist(team, start, names)

    async def record(self, team: str) -> None:
        """Have the team's terminals recorded as its settings say now."""
        for user, link in self.keepers.parts(team):
            await insist(link, lambda keeper, user=user: self._recording.tell(keeper, team, user))  # type: ignore[misc]

    def prepare(self, team: str, keeper: Keeper) -> None:
        """The team is declared, and agents with terminals will be started: its tmux server may come up meanwhile."""
        self._background.spawn(self._prepare(keeper, team), name=f"prepare {team}")

    async def _prepare(self, keeper: Keeper, team: str) -> None:
        try:
            await keeper.prepare(team, self._order(team))
        except CorralError as error:
            log.info("team %s is not prepared, and `start` will say why: %s", team, error.message)

    def _order(self, team: str) -> TeamOrder:
        declared = self._registry.teams[team]
        return TeamOrder(systemd=declared.systemd, limits=declared.limits)

    async def insist(self, team: str, act: Callable[[Keeper], Awaitable[_T]], agents: Collection[str] = ()) -> _T:
        """Do something idempotent through the keeper of a team, and again with the next one if it dies meanwhile.

        `agents` are those that it concerns, if not the whole team (`Keepers.of`).
        """
        return await insist(self.keepers.of(team, agents), act)

    async def insist_at(self, team: str, act: Callable[[Keeper], Awaitable[_T]], directory: str = "") -> _T:
        """As `insist`, through the keeper that has the directory, or what is the team's own (`Keepers.at`)."""
        return await insist(self.keepers.at(team, directory), act)

    async def insist_for(self, user: str, act: Callable[[Keeper], Awaitable[_T]]) -> _T:
        """As `insist`, through the keeper of whoever asks: what it is about may be of no team."""
        return await insist(self.keepers.of_user(user), act)

    # What keepers tell

    async def _consume(self) -> None:
        while True:
            reports = [await self._reports.get()]
            while not self._reports.empty():
                reports.append(self._reports.get_nowait())
            findings = Findings()
            for report in reports:
                self._take(report, findings)
            if findings.agents or findings.events:
                await self._follow(findings)

    def _take(self, report: Report, findings: Findings) -> None:
        if isinstance(report, ActivityChanged):
            self.activities.seen(report)
        elif isinstance(report, RecordsSaid):
            self.activities.written(report)
        elif isinstance(report, RunExited):
            key = (report.team, report.run.agent)
            agent = findings.agents.get(key) or self._registry.agents.get(key)
            if agent is not None and agent.run == report.run.run and agent.state in states.LIVE:
                self._registry.forget_activity(key)
                observe.run_exited(findings, agent, report.run, self._now())
        elif isinstance(report, ProcessCount):
            self._registry.processes[report.team, report.agent] = report.running
        elif isinstance(report, ProcessEnded):
            observe.process_ended(findings, report)
        elif isinstance(report, RunReady):
            key = (report.team, report.agent)
            if (agent := findings.agents.get(key) or self._registry.agents.get(key)) is not None:
                observe.run_ready(findings, agent, report)
            self._background.spawn(self.prompts.deliver(report), name=f"prompt of {report.agent}")
        elif isinstance(report, ServerChanged):
            self.suspect(report.team)
        elif isinstance(report, KeyboardChanged):
            self.on_keyboard(report)
        elif isinstance(report, BranchesMoved):
            self.on_branches(report.team)
        elif isinstance(report, Degraded):
            log.warning("%s/%s: %s", report.team, report.agent, report.why)
            observe.degraded(findings, report)

    async def _follow(self, findings: Findings) -> None:
        """Write findings down and set in motion what follows from them."""
        await self._registry.observe(findings.agents.values(), findings.events)
        for agent in findings.restart:
            self._restarting.plan(agent)
        for agent in findings.resume_prompt:
            self._background.spawn(self.prompts.resume(agent), name=f"prompt of {agent.name}")
        for agent in findings.finish_stop:
            self._background.spawn(self._finish_stop(agent), name=f"finish the stop of {agent.name}")
        for agent in findings.await_ready:
            if (keeper := self.keepers.of_agent(agent).connected) is not None:
                await keeper.watch_ready(agent.team, observe.ready_order(self._registry.teams[agent.team], agent))

    async def _finish_stop(self, agent: Agent) -> None:
        async with self.lock(agent.team):
            current = self._registry.agents.get(agent.key)
            if current is not None and current.run == agent.run and current.state == states.STOPPING:
                await self.stop(agent.team, [agent.name], DEFAULT_GRACE, SUPERVISOR, lifecycle.still_stopping)

    async def _restart(self, agent: Agent) -> None:
        async with self.lock(agent.team):
            current = self._registry.agents.get(agent.key)
            if current is None or current.run != agent.run or current.state != states.BACKOFF:
                return
            try:
                await self.before_restart(current)
                await self.line.request(agent.team, [agent.name], SUPERVISOR)
            except CorralError as error:
                log.error("%s/%s was not started again: %s", agent.team, agent.name, error.message)

    def suspect(self, team: str) -> None:
        """Something is up with the team: look at it now and not at the next sweep."""
        self._looking.at(team)

    def _keeper_lost(self, user: str, why: str = "") -> None:
        if why:
            log.error("the keeper of %s was hung up on: %s", user, why)
            lost = NewEvent(event="keeper.cut_off", outcome="failed", data={"user": user, "reason": why})
        else:
            log.warning("the keeper%s went away; looking for it", f" of {user}" if user else "")
            lost = NewEvent(event="keeper.lost", outcome="failed", data={"user": user} if user else {})
        self._background.spawn(self._registry.observe((), [lost]))
        for team in self.keepers.teams_of(user):
            self._looking.at(team)


async def _dismiss(keeper: Keeper) -> None:
    """Let a keeper go that nobody needs."""
    try:
        await keeper.shut_down(force=False)
    except UnavailableError as error:
        log.info("the keeper is gone already: %s", error.message)


async def _nothing_before(_: Agent) -> None:
    """Where agents need nothing in their workspaces."""
