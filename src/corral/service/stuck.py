"""Agents that work and get nowhere: they are told so, and if that moves nothing, a person is. Nothing is done to them.

What others can rely on: `stuck_since` of an agent's record is set when a person is told (`agent.stuck`), and 0 again
when the agent moves on (`agent.unstuck`), stops working, or its run ends.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from corral.background import Background
from corral.domain import activity as activities
from corral.domain import states, stuck
from corral.domain.activity import Activity
from corral.domain.errors import CorralError
from corral.domain.records import Agent, NewEvent
from corral.domain.spec_durations import shown_duration
from corral.domain.stuck import Seen
from corral.service.alarms import Alarms
from corral.service.context import Context

log = logging.getLogger("corral.daemon")

_Key = tuple[str, str]
#: Under which subject it is among an agent's notices.
_SUBJECT = "stuck"
#: Says something to an agent as Corral itself; raises `CorralError` if that cannot be done.
Say = Callable[[Agent, str], Awaitable[object]]


class StuckWatch:
    """Looks at agents that work, a few times within the time that their file says."""

    def __init__(self, context: Context, say: Say) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._say = say
        self._alarms: Alarms[_Key] = Alarms()
        self._seen: dict[_Key, Seen] = {}
        self._background = Background()

    def begin(self) -> None:
        """Watch from now on."""
        self._registry.watch_agents(self._changed)
        self._registry.watch_activity(self._does_something_else)
        self._changed(list(self._registry.agents))

    def end(self) -> None:
        """Watch no more."""
        self._alarms.end()
        self._background.cancel()

    def _changed(self, keys: Collection[_Key]) -> None:
        for key in keys:
            self._follow(key)

    def _does_something_else(self, key: _Key, _: Activity) -> None:
        self._follow(key)

    def _follow(self, key: _Key) -> None:
        """Have it looked at as long as it works; what was seen before counts only for as long as it does."""
        agent = self._registry.agents.get(key)
        every = agent.upkeep.stuck_after if agent is not None else None
        works = agent is not None and every is not None and self._works(agent)
        if agent is not None and works and every is not None:
            if agent.stuck_since:
                self._notice(agent)
            if key not in self._alarms:
                self._seen[key] = stuck.looked(None, agent.run, self._registry.outputs.get(key))
                self._look_later(key, every)
            return
        self._alarms.cancel(key)
        self._seen.pop(key, None)
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

    def _look_later(self, key: _Key, stuck_after: float) -> None:
        self._alarms.set(
            key, stuck_after / stuck.LOOKS, lambda: self._background.spawn(self._look(key), name=f"look at {key[1]}")
        )

    async def _look(self, key: _Key) -> None:
        """See whether anything came to its screen since the last look, and what follows from that."""
        try:
            async with self._supervisor.lock(key[0]):
                await self._supervisor.reconcile(key[0])
        except CorralError as error:
            log.info("%s/%s could not be looked at: %s", *key, error.message)
        agent = self._registry.agents.get(key)
        if agent is None or agent.upkeep.stuck_after is None or not self._works(agent):
            return self._follow(key)
        seen = self._seen[key] = stuck.looked(self._seen.get(key), agent.run, self._registry.outputs.get(key))
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
        """Written before it is said: whoever comes after a crash does not say it again."""
        await self._note(replace(agent, nudged_at=self._now()), "agent.nudged", stuck_after=agent.upkeep.stuck_after)
        try:
            await self._say(agent, agent.upkeep.nudge)
        except CorralError as error:
            log.info("%s/%s could not be told that it seems to be stuck: %s", *agent.key, error.message)
            current = self._registry.agents.get(agent.key)
            if current is not None and current.run == agent.run:
                await self._tell_a_person(current)
        else:
            # What was said shows on the screen: that is no sign of life.
            self._seen[agent.key] = stuck.looked(None, agent.run, self._registry.outputs.get(agent.key))

    async def _tell_a_person(self, agent: Agent) -> None:
        asked = replace(agent, stuck_since=self._now())
        await self._note(asked, "agent.stuck", "failed", reason=_reason(agent), nudged=bool(agent.nudged_at))
        self._notice(asked)

    async def _moved_on(self, agent: Agent) -> None:
        event = "agent.unstuck" if agent.stuck_since else ""
        await self._note(replace(agent, nudged_at=0.0, stuck_since=0.0), event)
        self._registry.set_notice(agent.key, _SUBJECT, "")

    def _notice(self, agent: Agent) -> None:
        remedy = f"corral attach {agent.name} shows it, corral restart {agent.name} starts it anew"
        self._registry.set_notice(agent.key, _SUBJECT, f"stuck: {_reason(agent)}; {remedy}")

    async def _note(self, agent: Agent, event: str, outcome: str = "ok", **data: object) -> None:
        current = self._registry.agents.get(agent.key)
        if current is None or current.run != agent.run:
            return
        changed = replace(current, nudged_at=agent.nudged_at, stuck_since=agent.stuck_since)
        told = NewEvent(
            event=event, team=agent.team, agent=agent.name, outcome=outcome, data={"run": agent.run, **data}
        )
        await self._registry.observe([changed] if changed != current else [], [told] if event else [])


def _reason(agent: Agent) -> str:
    return f"it works, and nothing came to its screen for {shown_duration(agent.upkeep.stuck_after or 0.0)}"
