"""Starting runs: what is meant is written down, then it is done, then what became of it is written down.

A large team is started part by part: while tmux makes the terminals of one part, the next one is written down, and so
is what became of the one before.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from corral.domain import credentials, lifecycle
from corral.domain.credentials import Names
from corral.domain.dependencies import needs_a_sign
from corral.domain.errors import CorralError
from corral.domain.moments import Moment
from corral.domain.records import PROMPT_WAITING, SUPERVISOR, Agent, NewEvent, Who
from corral.failpoint import point
from corral.ports.runs import Launch, Started
from corral.supervise.confines import confines_of, enforced_of
from corral.supervise.conversations import Begun, Conversations
from corral.supervise.keepers import Keepers
from corral.supervise.outcomes import Outcomes, event_of
from corral.supervise.registry import Registry

#: How long what an ended run left behind gets to go by itself before its successor is started.
_LEFTOVER_GRACE = 2.0
#: So many are written down at once: few to begin with, so that tmux soon has work, then so many that it does not wait
#: for more, and few in the end, because for what became of the last ones everybody waits.
_FIRST_PART, _PART, _LAST_PART = 10, 70, 20
#: So few are not split.
_FEW = 45

#: Start runs of a team, also over a keeper that dies on the way: a run that is there is never started again.
Launcher = Callable[[str, list[Launch]], Awaitable[Started]]


class Launching:
    """Starts runs of agents. The caller holds the team's lock."""

    def __init__(
        self,
        registry: Registry,
        keepers: Keepers,
        conversations: Conversations,
        outcomes: Outcomes,
        launch: Launcher,
        now: Callable[[], float],
        clock: Callable[[], Moment],
    ) -> None:
        self._registry = registry
        self._keepers = keepers
        self._conversations = conversations
        self._outcomes = outcomes
        self._launch = launch
        self._now = now
        self._clock = clock

    async def start(
        self, team: str, names: Sequence[str], who: Who, environments: Mapping[str, dict[str, str]] | None
    ) -> list[str]:
        """Start a new run of each agent. Without environments, each gets the one of its last run.

        Returns what a person should know besides. Raises only if nothing can be known; what could not be started is
        `failed` in the registry afterwards.
        """
        keeper = await self._keepers.of(team, names).open()
        agents = [self._registry.agent(team, name) for name in names]
        old_runs = {agent.run: agent.name for agent in agents if agent.run}
        if old_runs:
            # Not processes that were started for the agents: those do not end because a program beside them did.
            await keeper.stop(team, old_runs, _LEFTOVER_GRACE, spare=True)
        openings = await self._conversations.begin(keeper, agents, environments)
        on_the_way: list[asyncio.Task[list[str]]] = []
        try:
            for part in _parts(agents):
                # Each has a credential for this run alone. What is kept of it is a hash.
                given = {agent.name: self._credential(agent) for agent in part}
                begun = [self._begun(agent, who, openings[agent.name], *given[agent.name]) for agent in part]
                await self._registry.commit(who, agents=begun, events=[_starting(agent) for agent in begun])
                point("daemon.starting_written")
                launches = [
                    self._order(agent, openings[agent.name], given[agent.name][1], environments) for agent in begun
                ]
                on_the_way.append(asyncio.create_task(self._started(team, begun, launches)))
                await asyncio.sleep(0)  # the order goes out before the next one is made
        finally:
            # Whatever kept the rest from being written down: what becomes of those that are on their way is.
            ends = await asyncio.gather(*on_the_way, return_exceptions=True)
        notes: list[str] = []
        for end in ends:
            if isinstance(end, BaseException):
                raise end
            notes += end
        return list(dict.fromkeys(notes))

    def _credential(self, agent: Agent) -> tuple[str, str]:
        """A new run, and its credential."""
        run = secrets.token_hex(6)
        instance = self._keepers.of_agent(agent).hello.instance
        names = Names(instance=instance, team=agent.team, agent=agent.name, run=run)
        return run, credentials.issue(names, secrets.token_urlsafe(24))

    def _begun(self, agent: Agent, who: Who, begun: Begun, run: str, credential: str) -> Agent:
        """The record of an agent whose next run is about to be started."""
        by_person = who != SUPERVISOR
        hello = self._keepers.of_agent(agent).hello
        team = self._registry.teams[agent.team]
        return lifecycle.begin(
            agent,
            run,
            self._now(),
            by_person=by_person,
            conversation=begun.opening.conversation,
            prompt_state=begun.opening.prompt_state,
            begun=self._clock() if by_person else agent.begun,
            asked_by=who.user if by_person else agent.asked_by,
            ready=not needs_a_sign(agent, team.supervision.admission),
            user=hello.user,
            host=hello.host,
            containment=hello.containment,
            credential=credentials.digest(credential),
            enforced=enforced_of(team, agent, hello.obstacles),
        )

    def _order(
        self, agent: Agent, begun: Begun, credential: str, environments: Mapping[str, dict[str, str]] | None
    ) -> Launch:
        return Launch(
            agent=agent.name,
            run=agent.run,
            command=list(begun.command),
            shell=agent.shell,
            directory=agent.workspace,
            environment=None if environments is None else environments[agent.name],
            watch_ready=not agent.ready,
            ready_when=agent.ready_when,
            limits=agent.limits,
            terminal=agent.terminal,
            stdin=agent.stdin or agent.prompt_state == PROMPT_WAITING,
            bind=agent.bind,
            credential=credential,
            confines=confines_of(self._registry.teams[agent.team], agent),
        )

    async def _started(self, team: str, begun: Sequence[Agent], launches: list[Launch]) -> list[str]:
        """Start what is written down, and write down what became of it."""
        try:
            started = await self._launch(team, launches)
        except CorralError as error:
            await self._outcomes.start_failed(begun, error)
            raise
        point("daemon.launched")
        await self._outcomes.started(team, started.runs)
        point("daemon.started_written")
        return started.notes


def _parts(agents: Sequence[Agent]) -> Iterator[Sequence[Agent]]:
    """All of them, part by part; a few are not split."""
    if len(agents) > _FEW:
        yield agents[:_FIRST_PART]
        agents = agents[_FIRST_PART:]
    while len(agents) > _FEW:
        size = min(_PART, len(agents) - _LAST_PART)
        yield agents[:size]
        agents = agents[size:]
    if agents:
        yield agents


def _starting(agent: Agent) -> NewEvent:
    known = agent.conversation
    return event_of("agent.starting", agent, run=agent.run, session=known.id or None, resumed=known.resumed or None)
