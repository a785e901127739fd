"""The line of agents that wait to be started: by a person, or by the restart policy.

Whoever wants agents started asks here. Those that may start now are started at once; the others are `pending`, with
the reason, and their place in the line is written down, so that the next daemon goes on with it. The rules are in
`domain.admission`. What may let somebody in is told by events: every change of an agent has the line looked at. Only
memory tells nobody when there is some again, so while somebody waits for it, there is a look now and then.

Each person has a line of their own, for all of their teams: on a shared server no keeper but the owner's is asked about
them, and nobody waits for what somebody else starts. How short the host is of memory, the daemon sees itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from corral.background import Background
from corral.domain import admission, lifecycle, states
from corral.domain.admission import Decision, Key, Population, Waiting
from corral.domain.dependencies import obstacle
from corral.domain.errors import CorralError
from corral.domain.kinds import SERVICE
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Place, Who
from corral.failpoint import point
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry

log = logging.getLogger("corral.daemon")

#: Between two looks at the memory of the host, while somebody waits for it: the kernel's figure is of ten seconds.
_MEMORY_SECONDS = 2.0
#: Before another try where the keeper did not answer.
_RETRY_SECONDS = 5.0

#: Start agents of a team, whose lock is held: (team, names, who, environments) → what a person should know besides.
Start = Callable[[str, Sequence[str], Who, Mapping[str, dict[str, str]] | None], Awaitable[list[str]]]

#: An agent, and its place in the line.
_Placed = tuple[Agent, Place]


@dataclass(slots=True)
class _Course:
    """How far the line of one person's teams has come."""

    #: The last turn that was served; whoever comes now comes after it.
    served: int = 0
    #: Memory was short at the last look, and when the next one may be started because of that.
    careful: bool = False
    not_before: float = 0.0


class Line:
    """Those of all persons. `start` and `lock` are the supervisor's."""

    def __init__(
        self,
        registry: Registry,
        keepers: Keepers,
        lock: Callable[[str], asyncio.Lock],
        start: Start,
        now: Callable[[], float],
        pressure: Callable[[], float | None],
    ) -> None:
        """`pressure` is that of the host's memory in percent; None if nobody can tell."""
        self._registry = registry
        self._keepers = keepers
        self._lock = lock
        self._start = start
        self._now = now
        self._pressure = pressure
        self._background = Background()
        self._timer: asyncio.TimerHandle | None = None
        #: Teams whose turn is being looked at, and whether they are to be looked at once more.
        self._looking: dict[str, bool] = {}
        #: Teams of which nobody could be started at the last look: others are not kept by them.
        self._stuck: set[str] = set()
        #: By whose the teams are.
        self._courses: defaultdict[str, _Course] = defaultdict(_Course)

    def begin(self) -> None:
        """Go on with the line that an earlier daemon left."""
        for owner, placed in self._by_owner().items():
            self._courses[owner].served = min(place.turn for _, place in placed) - 1
        self._registry.watch_agents(self._changed)
        self.look()

    def end(self) -> None:
        """Start nobody any more. Who waits goes on waiting, for the next daemon."""
        if self._timer is not None:
            self._timer.cancel()
        self._background.cancel()

    async def request(
        self, team: str, names: Sequence[str], who: Who, environments: Mapping[str, dict[str, str]] | None = None
    ) -> list[str]:
        """Start a new run of each agent that may start now, and put the others in line. The caller holds the lock.

        As `Supervisor.start`, which does it. Without environments, each has the one of its last run.
        """
        placed = self._placed(team, names, who)
        decision = await self._decide(team, placed)
        chosen = set(decision.start)
        now = [(agent, place) for agent, place in placed if agent.key in chosen]
        later = [(agent, place) for agent, place in placed if agent.key not in chosen]
        if later:
            if environments is not None:
                keeper = await self._keepers.of(team).open()
                await keeper.keep_environments(team, {agent.name: environments[agent.name] for agent, _ in later})
            pending = [
                lifecycle.in_line(agent, place, _asked_by(agent, who), decision.reasons.get(agent.key, ""), self._now())
                for agent, place in later
            ]
            known = {agent.key for agent, _ in self._in_line()}
            events = [_pending(agent) for agent in pending if agent.key not in known]
            # Before anybody is started: whoever comes after a crash finds the whole line.
            await self._registry.commit(who, agents=pending, events=events)
            point("daemon.line_written")
        notes = await self._serve(team, now, environments)
        self.look()
        return notes

    def look(self) -> None:
        """Let in whoever may start now."""
        for team in dict.fromkeys(agent.team for agent, _ in self._in_line()):
            self._look_at(team)

    def _look_at(self, team: str) -> None:
        if team in self._looking:
            self._looking[team] = True
            return
        self._looking[team] = False
        self._background.spawn(self._let_in(team), name=f"line of {team}")

    async def _let_in(self, team: str) -> None:
        try:
            while True:
                self._looking[team] = False
                try:
                    async with self._lock(team):
                        await self._let_in_now(team)
                    self._stuck.discard(team)
                except CorralError as error:
                    self._stuck.add(team)
                    log.warning("nobody of %s could be started from the line: %s", team, error.message)
                    self._look_again(_RETRY_SECONDS)
                    return
                if not self._looking[team]:
                    return
        finally:
            del self._looking[team]

    async def _let_in_now(self, team: str) -> None:
        """Start those of the team whose turn it is, and write down what the others wait for now. Lock held."""
        waiting = [(agent, place) for agent, place in self._in_line() if agent.team == team]
        if not waiting:
            return
        decision = await self._decide(team, ())
        told = [
            replace(agent, reason=why)
            for agent, place in waiting
            if agent.key in decision.reasons
            and (why := lifecycle.why_in_line(place, decision.reasons[agent.key])) != agent.reason
        ]
        if told:
            await self._registry.observe(told, ())
        start = set(decision.start)
        chosen = [(agent, place) for agent, place in waiting if agent.key in start]
        for who in dict.fromkeys(place.who for _, place in chosen):
            await self._serve(team, [(agent, place) for agent, place in chosen if place.who == who], None)

    async def _serve(
        self, team: str, chosen: Sequence[_Placed], environments: Mapping[str, dict[str, str]] | None
    ) -> list[str]:
        """Start them, whom the same person asked for."""
        if not chosen:
            return []
        names = [agent.name for agent, _ in chosen]
        course = self._course(team)
        course.served = max(course.served, *(place.turn for _, place in chosen))
        if course.careful:
            course.not_before = asyncio.get_running_loop().time() + _MEMORY_SECONDS
        who = chosen[0][1].who
        own = None if environments is None else {name: environments[name] for name in names}
        return await self._start(team, names, SUPERVISOR if who == SUPERVISOR else who, own)

    # Deciding

    def _placed(self, team: str, names: Sequence[str], who: Who) -> list[_Placed]:
        """The agents, each with a place: the one that it has already, or one at the end of its person's turns."""
        placed = []
        # Of each person the last: more are not looked at, and whoever brings up hundreds adds hundreds.
        turns: dict[str, int] = {}
        for agent, place in self._in_line_beside(team):
            turns[agent.asked_by] = max(place.turn, turns.get(agent.asked_by, 0))
        for name in names:
            agent = self._registry.agent(team, name)
            if agent.state == states.PENDING and agent.place is not None:
                place = replace(agent.place, who=who)
            else:
                asked_by = _asked_by(agent, who)
                turn = turns[asked_by] = admission.next_turn(asked_by, turns.items(), self._course(team).served)
                ended = lifecycle.how_it_came_to_back_off(agent)
                place = Place(turn=turn, since=self._now(), who=who, ended=ended)
            placed.append((agent, place))
        return placed

    async def _decide(self, team: str, newcomers: Sequence[_Placed]) -> Decision:
        """Who may start now, of those in line beside this team and of the newcomers. It is for the team's sake."""
        free = await self._free_memory(team)
        new = {agent.key for agent, _ in newcomers}
        others = [one for one in self._in_line_beside(team) if one[0].key not in new]
        everybody = [*(one for one in others if one[0].team == team or one[0].team not in self._stuck), *newcomers]
        now = self._now()
        teams = {team: self._registry.of_team(team) for team in {agent.team for agent, _ in everybody}}
        if any(agent.after for agent, _ in everybody):
            # Those that come after a newcomer wait for one that has its place in the line.
            for agent, place in newcomers:
                teams[agent.team][agent.name] = replace(agent, place=place)
        course = self._course(team)
        decision = admission.decide(
            [self._waiting(agent, place, teams[agent.team]) for agent, place in everybody],
            {
                team: self._population(team, [one for one in agents.values() if one.key not in new], free, now)
                for team, agents in teams.items()
            },
            pressure=self._pressure(),
            at_most=self._at_most(course),
        )
        course.careful = decision.short_of_memory
        if decision.short_of_memory:
            self._look_again(_MEMORY_SECONDS)
        elif decision.reasons:
            # One that starts up counts for so long only, and nobody tells when that is over.
            self._look_again(admission.START_UP_SECONDS)
        return decision

    @staticmethod
    def _at_most(course: _Course) -> int | None:
        if not course.careful:
            return None
        return 1 if asyncio.get_running_loop().time() >= course.not_before else 0

    @staticmethod
    def _waiting(agent: Agent, place: Place, team: Mapping[str, Agent]) -> Waiting:
        kept = obstacle(agent, team) if agent.after else None
        return Waiting(
            key=agent.key,
            turn=place.turn,
            since=place.since,
            obstacle=kept.reason if kept else "",
            counts=agent.kind != SERVICE,
        )

    def _population(self, team: str, others: Sequence[Agent], free: Mapping[str, float], now: float) -> Population:
        return Population(
            rules=self._registry.teams[team].supervision.admission,
            alive=sum(agent.state in states.LIVE and agent.kind != SERVICE for agent in others),
            starting=sum(_starts_up(agent, now) for agent in others),
            free_memory=free.get(team),
        )

    async def _free_memory(self, team: str) -> Mapping[str, float]:
        """Percent of its own limit that this team has free, and each in line beside it: of those that have a limit."""
        teams = [self._registry.teams[name] for name in {team, *(one.team for one, _ in self._in_line_beside(team))}]
        limited = [
            one.name for one in teams if one.supervision.admission.memory_headroom and one.limits.memory_max is not None
        ]
        if not limited:
            return {}
        keeper = await self._keepers.of(team).open()
        seen = await keeper.host_memory(limited)
        return {name: left for name, left in seen.free.items() if name in limited}

    def _course(self, team: str) -> _Course:
        return self._courses[self._keepers.owner(team)]

    def _in_line_beside(self, team: str) -> list[_Placed]:
        """Those in line of whoever has this team."""
        return self._by_owner().get(self._keepers.owner(team), [])

    def _by_owner(self) -> dict[str, list[_Placed]]:
        found: dict[str, list[_Placed]] = {}
        for one in self._in_line():
            found.setdefault(self._keepers.owner(one[0].team), []).append(one)
        return found

    def _in_line(self) -> list[_Placed]:
        return [
            (agent, agent.place)
            for agent in self._registry.agents.values()
            if agent.state == states.PENDING and agent.place is not None and agent.team in self._registry.teams
        ]

    # Waking

    def _changed(self, keys: Collection[Key]) -> None:
        """An agent changed: one that ended makes room, one that is ready is what others waited for."""
        waiting = [agent for agent, _ in self._in_line()]
        concerned = {team for team, _ in keys}
        for team in dict.fromkeys(agent.team for agent in waiting if agent.team in concerned):
            self._look_at(team)

    def _look_again(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None and not self._timer.cancelled() and self._timer.when() > loop.time():
            if self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self.look)


def _asked_by(agent: Agent, who: Who) -> str:
    """Whose turn it has: of whoever asks, or asked for it last if it is Corral itself."""
    return agent.asked_by if who is SUPERVISOR else who.user


def _starts_up(agent: Agent, now: float) -> bool:
    if agent.state == states.STARTING:
        return True
    return agent.state == states.RUNNING and not agent.ready and now - agent.since < admission.START_UP_SECONDS


def _pending(agent: Agent) -> NewEvent:
    return NewEvent(event="agent.pending", team=agent.team, agent=agent.name, data={"reason": agent.reason})
