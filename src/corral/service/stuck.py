"""Agents that work and get nowhere: they are told so, and if that moves nothing, a person is. Nothing is done to them.

What others can rely on: `stuck_since` of an agent's record is set when a person is told (`agent.stuck`), and 0 again
when the agent moves on (`agent.unstuck`), stops working, or its run ends. `not_nudged` says then why the agent could
not be told before, if it could not. What an agent is told is typed at once or not at all: it is never said to one that
has moved on meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from corral.domain import activity as activities
from corral.domain import states, stuck
from corral.domain.activity import Activity
from corral.domain.errors import CorralError
from corral.domain.foreign_words import told_error
from corral.domain.records import Agent, NewEvent
from corral.domain.sends import SUBMITTED, Send
from corral.domain.stuck import Seen
from corral.service.agent_watch import AgentWatch, Key
from corral.service.context import Context

log = logging.getLogger("corral.daemon")

#: Under which subject it is among an agent's notices.
_SUBJECT = "stuck"
#: Says something to an agent as Corral itself, at once or not at all; raises `CorralError` if that cannot be tried.
Say = Callable[[Agent, str], Awaitable[Send]]


class StuckWatch(AgentWatch):
    """Looks at agents that work, a few times within the time that their file says."""

    def __init__(self, context: Context, say: Say) -> None:
        super().__init__(context)
        self._now = context.now
        self._say = say
        self._seen: dict[Key, Seen] = {}
        #: Why each could not be told at the last try, or is not told yet.
        self._unsaid: dict[Key, str] = {}

    def begin(self) -> None:
        """Watch from now on."""
        self._registry.watch_activity(self._does_something_else)
        super().begin()

    def _does_something_else(self, key: Key, _: Activity) -> None:
        self._follow(key)

    def _follow(self, key: Key) -> None:
        """Have it looked at as long as it works; what was seen before counts only for as long as it does."""
        agent = self._registry.agents.get(key)
        every = agent.upkeep.stuck_after if agent is not None else None
        works = agent is not None and every is not None and self._works(agent)
        if agent is not None and works and every is not None:
            if agent.stuck_since:
                self._notice(agent)
            if key not in self._alarms:
                self._seen[key] = stuck.looked(None, agent.run, self._registry.last_news.get(key))
                self._look_later(key, every)
            return
        self._alarms.cancel(key)
        self._seen.pop(key, None)
        self._unsaid.pop(key, None)
        self._registry.set_notice(key, _SUBJECT, "")
        # Before anything is known of what it does, as after the start of a daemon, it may well be stuck still.
        knows = agent is not None and self._registry.activity(key).word != activities.UNKNOWN
        if agent is not None and knows and not agent.paused and (agent.nudged_at or agent.stuck_since):
            self._background.spawn(self._moved_on(agent), name=f"{agent.name} is not stuck")

    def _works(self, agent: Agent) -> bool:
        return (
            agent.state == states.RUNNING
            and not agent.paused
            and self._registry.activity(agent.key).word == activities.WORKING
        )

    def _look_later(self, key: Key, stuck_after: float) -> None:
        self._alarms.set(
            key, stuck_after / stuck.LOOKS, lambda: self._background.spawn(self._look(key), name=f"look at {key[1]}")
        )

    async def _look(self, key: Key) -> None:
        """See whether anything new came to its screen since the last look, and what follows from that."""
        try:
            async with self._supervisor.lock(key[0]):
                await self._supervisor.reconcile(key[0])
        except CorralError as error:
            log.info("%s/%s could not be looked at: %s", *key, error.message)
        agent = self._registry.agents.get(key)
        if agent is None or agent.upkeep.stuck_after is None or not self._works(agent):
            return self._follow(key)
        seen = self._seen[key] = stuck.looked(self._seen.get(key), agent.run, self._registry.last_news.get(key))
        self._look_later(key, agent.upkeep.stuck_after)
        told = stuck.verdict(
            seen,
            nudged=bool(agent.nudged_at),
            stuck=bool(agent.stuck_since),
            has_nudge=bool(agent.upkeep.nudge),
        )
        if told == stuck.NUDGE:
            await self._nudge(agent)
        elif told == stuck.PERSON:
            await self._tell_a_person(agent)
        elif told == stuck.MOVED_ON:
            await self._moved_on(agent)
        return None

    async def _nudge(self, agent: Agent) -> None:
        """Tell it now, if that is possible: else it is tried once more with the next look.

        Written before it is said, so that whoever comes after a crash does not say it again; told when it is said.
        """
        key, before = agent.key, self._seen[agent.key]
        self._unsaid[key] = "nobody has heard that it was typed"
        self._begin_anew(agent)
        await self._note(replace(agent, nudged_at=self._now()))
        try:
            sent = await self._say(agent, agent.upkeep.nudge)
            why = "" if sent.reached(SUBMITTED) else sent.reason or "nobody can tell whether it was typed"
            message = sent.message
        except CorralError as error:
            why, message = told_error(error), ""
        current = self._registry.agents.get(key)
        if current is None or current.run != agent.run:
            return
        if not why:
            self._unsaid.pop(key, None)
            # What was said shows on the screen: that is no sign of life.
            self._begin_anew(agent)
            await self._note(current, "agent.nudged", stuck_after=agent.upkeep.stuck_after, message=message)
        elif key in self._unsaid:
            log.info("%s/%s could not be told that it seems to be stuck: %s", *key, why)
            self._unsaid[key], self._seen[key] = why, before
            await self._note(replace(current, nudged_at=0.0))

    def _begin_anew(self, agent: Agent) -> None:
        """Count looks from here, if it is still looked at."""
        if agent.key in self._seen:
            self._seen[agent.key] = stuck.looked(None, agent.run, self._registry.last_news.get(agent.key))

    async def _tell_a_person(self, agent: Agent) -> None:
        why = self._unsaid.get(agent.key, "")
        asked = replace(agent, stuck_since=self._now(), not_nudged=why)
        nudged = bool(agent.nudged_at) and not why
        await self._note(asked, "agent.stuck", "failed", reason=stuck.in_words(asked), nudged=nudged)
        self._notice(asked)

    async def _moved_on(self, agent: Agent) -> None:
        event = "agent.unstuck" if agent.stuck_since else ""
        self._unsaid.pop(agent.key, None)
        await self._note(replace(agent, nudged_at=0.0, stuck_since=0.0, not_nudged=""), event)
        self._registry.set_notice(agent.key, _SUBJECT, "")

    def _notice(self, agent: Agent) -> None:
        remedy = f"corral attach {agent.name} shows it, corral restart {agent.name} starts it anew"
        self._registry.set_notice(agent.key, _SUBJECT, f"stuck: {stuck.in_words(agent)}; {remedy}")

    async def _note(self, agent: Agent, event: str = "", outcome: str = "ok", **data: object) -> None:
        current = self._registry.agents.get(agent.key)
        if current is None or current.run != agent.run:
            return
        changed = replace(
            current, nudged_at=agent.nudged_at, stuck_since=agent.stuck_since, not_nudged=agent.not_nudged
        )
        told = NewEvent(
            event=event, team=agent.team, agent=agent.name, outcome=outcome, data={"run": agent.run, **data}
        )
        await self._registry.observe([changed] if changed != current else [], [told] if event else [])
