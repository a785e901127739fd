"""What the daemon knows, in memory and in the store, changed together.

Reads never touch the disk. A change by a command is refused as a whole when the store cannot take it. A change that was
*observed* happened whether or not it can be written: it counts at once, and is written as soon as the store takes it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from corral.background import Background
from corral.domain.activity import NOT_KNOWN, Activity
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.health import Health
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Team, Who
from corral.ports.store import Change, Item, Store

log = logging.getLogger("corral.daemon")

#: Observed events that wait for the store; the oldest go first when a full disk stays full.
_MOST_UNSAVED_EVENTS = 10_000
#: How soon to try again to write what the store did not take.
_SAVE_AGAIN_SECONDS = 2.0
#: So long an event that nobody waits for may wait for others to be written with.
_NOTE_SECONDS = 0.02

#: An event with who caused it, and when.
_Noted = tuple[Who, float, NewEvent]


def no_agent(team: str, name: str, known: Iterable[str]) -> NotFoundError:
    """What is said of an agent that a team does not have; `known` are those that it has."""
    return NotFoundError(f"team {team} has no agent {name}", f"its agents are: {', '.join(known) or 'none'}")


def _place(agent: Agent | None) -> object:
    """Whose an agent is and where, as far as that says who may do what to it and what its name means."""
    return agent and (agent.user, agent.workspace, agent.workspace_kind)


class Registry:
    """Teams and agents by name."""

    def __init__(self, store: Store, now: Callable[[], float], at_rest_mark: str) -> None:
        self._store = store
        self._now = now
        self._at_rest_mark = at_rest_mark
        self._writing = asyncio.Lock()
        self._background = Background()
        self._retry: asyncio.TimerHandle | None = None
        #: What was observed or noted and is not in the store yet: agents by key, and events.
        self._unsaved_agents: set[tuple[str, str]] = set()
        self._unsaved_events: deque[_Noted] = deque(maxlen=_MOST_UNSAVED_EVENTS)
        self._journal_grew = asyncio.Event()
        self._watchers: list[Callable[[Collection[tuple[str, str]]], None]] = []
        self.teams: dict[str, Team] = {}
        self.agents: dict[tuple[str, str], Agent] = {}
        #: Another one whenever there are other teams or agents, or they are somebody else's or somewhere else.
        self.version = 0
        #: What each agent does now; observed, and never stored.
        self._activity: dict[tuple[str, str], Activity] = {}
        self._activity_watchers: list[Callable[[tuple[str, str], Activity], None]] = []
        #: How many commands run that were started for an agent; observed, and never stored.
        self.processes: dict[tuple[str, str], int] = {}
        #: What checks say of agents that have one, and when each last showed something new; observed, and never stored.
        self.health: dict[tuple[str, str], Health] = {}
        self.last_news: dict[tuple[str, str], float | None] = {}
        #: What a person should know of an agent now, by subject. With an empty name it is about the whole team.
        self._notices: dict[tuple[str, str], dict[str, str]] = {}

    async def load(self) -> None:
        """Read what the last daemon knew."""
        snapshot = await self._store.load()
        self.teams = {team.name: team for team in snapshot.teams}
        self.agents = {agent.key: agent for agent in snapshot.agents}
        self.version += 1
        self._mark_rest()

    def watch_agents(self, tell: Callable[[Collection[tuple[str, str]]], None]) -> None:
        """Tell somebody of agents that changed, or are gone, by team and name: as soon as that counts."""
        self._watchers.append(tell)

    def _tell(self, keys: Collection[tuple[str, str]]) -> None:
        if keys:
            for tell in self._watchers:
                tell(keys)

    def of_team(self, team: str) -> dict[str, Agent]:
        """The agents of a team by name, in the order of its file."""
        agents = sorted(
            (agent for agent in self.agents.values() if agent.team == team), key=lambda agent: agent.position
        )
        return {agent.name: agent for agent in agents}

    @property
    def own(self) -> dict[str, Team]:
        """See `service.resolve.Roster`. Who asks is not known here: whose they are is known where it is decided."""
        return self.teams

    def activity(self, key: tuple[str, str]) -> Activity:
        """What an agent does now, as far as is known."""
        return self._activity.get(key, NOT_KNOWN)

    def set_activity(self, key: tuple[str, str], activity: Activity) -> None:
        """Take note of what an agent does; who watches is told if that is something else than before."""
        if activity != self._activity.get(key):
            self._activity[key] = activity
            for tell in self._activity_watchers:
                tell(key, activity)

    def forget_activity(self, key: tuple[str, str]) -> None:
        """Nothing is known of what an agent does: its run is over, or it is gone."""
        if self._activity.pop(key, None) is not None:
            for tell in self._activity_watchers:
                tell(key, NOT_KNOWN)

    def watch_activity(self, tell: Callable[[tuple[str, str], Activity], None]) -> None:
        """Tell somebody of an agent, by team and name, when it does something else."""
        self._activity_watchers.append(tell)

    def notices(self, key: tuple[str, str]) -> list[str]:
        """What a person should know of an agent now, or with an empty name of a team, in sentences."""
        return list(self._notices.get(key, {}).values())

    def set_notice(self, key: tuple[str, str], subject: str, text: str) -> None:
        """Have a person told something of an agent, or with an empty name of a team; nothing more of it if empty."""
        about = self._notices.setdefault(key, {})
        about.pop(subject, None)
        if text:
            about[subject] = text
        if not about:
            del self._notices[key]

    def count_processes(self, team: str, running: Mapping[str, int]) -> None:
        """Take what was seen of a team's processes in place of what was known."""
        self.processes = {key: count for key, count in self.processes.items() if key[0] != team}
        self.processes.update(((team, agent), count) for agent, count in running.items())

    def agent(self, team: str, name: str) -> Agent:
        """The agent, or NotFoundError."""
        agent = self.agents.get((team, name))
        if agent is None:
            raise no_agent(team, name, self.of_team(team))
        return agent

    def run_by(self, agent: Agent) -> str:
        """The OS user whose keeper tells of an agent; empty in the instance of one person."""
        team = self.teams.get(agent.team)
        return agent.run_as or (team.user if team is not None else "")

    def named(self, name: str) -> list[Agent]:
        """The agents of that name, of whatever team."""
        return [agent for agent in self.agents.values() if agent.name == name]

    async def commit(
        self,
        who: Who,
        *,
        teams: Sequence[Team] = (),
        drop_teams: Sequence[str] = (),
        agents: Sequence[Agent] = (),
        drop_agents: Sequence[tuple[str, str]] = (),
        events: Sequence[NewEvent] = (),
        put_items: Sequence[Item] = (),
        drop_items: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Change state and journal in one transaction, or raise and change nothing."""
        if teams and not self.teams:
            self._remove_rest_mark()
        await self._write(
            Change(
                who=who,
                time=self._now(),
                put_teams=teams,
                drop_teams=drop_teams,
                put_agents=agents,
                drop_agents=drop_agents,
                events=events,
                put_items=put_items,
                drop_items=drop_items,
            )
        )
        for team in teams:
            self.teams[team.name] = team
        for name in drop_teams:
            self.teams.pop(name, None)
            self._notices.pop((name, ""), None)
        self._remember(agents)
        for key in drop_agents:
            self.agents.pop(key, None)
            self.forget_activity(key)
            self.health.pop(key, None)
            self.last_news.pop(key, None)
            self._notices.pop(key, None)
        if teams or drop_teams or drop_agents:
            self.version += 1
        self._tell(drop_agents)
        self._mark_rest()
        self._wake_readers()

    async def _write(self, change: Change) -> None:
        """What is not written yet, and then this."""
        async with self._writing:
            unsaved, noted = self._backlog()
            await self._store.commit(*_changes(unsaved, noted, change.time), change)
            self._saved(unsaved, noted)

    async def must_take(self, team: str, names: Sequence[str]) -> None:
        """Raise, with nothing changed, if the store cannot be written now. For whoever is about to end agents that
        could not be started again without it: they are written as they are.
        """
        agents = [self.agent(team, name) for name in names]
        await self._write(Change(who=SUPERVISOR, time=self._now(), put_agents=agents))

    async def observe(self, agents: Iterable[Agent], events: Sequence[NewEvent], who: Who = SUPERVISOR) -> None:
        """Take note of what has happened. Never raises for a store that cannot be written."""
        changed = list(agents)
        # Once, and before it is written: by the time that it is, more may have been observed.
        self._remember(changed)
        time = self._now()
        try:
            await self._write(Change(who=who, time=time, put_agents=changed, events=events))
            self._wake_readers()
        except CorralError as error:
            log.error("kept in memory until the store can be written: %s", error.message)
            self._unsaved_agents.update(agent.key for agent in changed)
            self._unsaved_events.extend((who, time, event) for event in events)
            self._save_soon(_SAVE_AGAIN_SECONDS)

    def note(self, who: Who, event: NewEvent) -> None:
        """Take an event down that nobody waits for: it is written with the next commit, before it, or in a moment."""
        self._unsaved_events.append((who, self._now(), event))
        self._save_soon(_NOTE_SECONDS)

    def _save_soon(self, seconds: float) -> None:
        if self._retry is None:
            self._retry = asyncio.get_running_loop().call_later(seconds, self._save_in_background)

    def _save_in_background(self) -> None:
        self._retry = None
        self._background.spawn(self.save(), name="save what was observed")

    async def save(self) -> None:
        """Write what was noted, or could not be written before; it goes on waiting if the store does not take it."""
        if self._unsaved_agents or self._unsaved_events:
            await self.observe((), ())

    def _backlog(self) -> tuple[list[Agent], list[_Noted]]:
        """What was observed or noted and is not in the store: agents as they are, events by whom and when they were."""
        return [self.agents[key] for key in self._unsaved_agents if key in self.agents], list(self._unsaved_events)

    def _saved(self, agents: Sequence[Agent], noted: Sequence[_Noted]) -> None:
        saved = {agent.key: agent for agent in agents}
        # What was observed meanwhile is not written yet.
        self._unsaved_agents = {key for key in self._unsaved_agents if self.agents.get(key) is not saved.get(key)}
        for entry in noted:
            if self._unsaved_events and self._unsaved_events[0] is entry:
                self._unsaved_events.popleft()

    async def journal_growth(self) -> None:
        """Wait until something was journalled after this call."""
        await self._journal_grew.wait()

    def hear(self, changes: Sequence[Change]) -> None:
        """Wake whoever follows the journal: others write to it as well."""
        if any(change.events for change in changes):
            self._wake_readers()

    def _wake_readers(self) -> None:
        self._journal_grew.set()
        self._journal_grew = asyncio.Event()

    def _remember(self, agents: Sequence[Agent]) -> None:
        if any(_place(agent) != _place(self.agents.get(agent.key)) for agent in agents):
            self.version += 1
        self.agents.update((agent.key, agent) for agent in agents)
        self._tell([agent.key for agent in agents])

    def _mark_rest(self) -> None:
        if self.teams:
            return
        try:
            with open(self._at_rest_mark, "w", encoding="ascii"):
                return
        except OSError as error:
            log.error("cannot write %s: %s", self._at_rest_mark, error.strerror)

    def _remove_rest_mark(self) -> None:
        try:
            os.unlink(self._at_rest_mark)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CorralError(
                f"cannot remove {self._at_rest_mark}: {error.strerror}", "make CORRAL_HOME writable, then try again"
            ) from error


def _changes(agents: Sequence[Agent], noted: Iterable[_Noted], now: float) -> list[Change]:
    """What is written besides, as it was: by whom, and when."""
    found = [Change(who=SUPERVISOR, time=now, put_agents=agents)] if agents else []
    for (who, time), entries in itertools.groupby(noted, key=lambda entry: entry[:2]):
        found.append(Change(who=who, time=time, events=[event for _, _, event in entries]))
    return found
