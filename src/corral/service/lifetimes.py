"""Agents that may live only so long: their end is announced, then they are stopped, and stay so."""

from __future__ import annotations

import logging
from collections.abc import Callable

from corral.domain import lifecycle, lifetime_words, lifetimes, states
from corral.domain.errors import CorralError
from corral.domain.moments import Moment
from corral.domain.notices import Notice
from corral.domain.records import SUPERVISOR, Agent, NewEvent
from corral.service.agent_watch import AgentWatch, Key
from corral.service.context import Context
from corral.supervise.supervisor import DEFAULT_GRACE

log = logging.getLogger("corral.daemon")

#: Under which subject it is among an agent's notices.
_SUBJECT = "lifetime"
#: Before another try where nobody answered.
_RETRY_SECONDS = 20.0
#: It runs, or will be started again by itself, or nobody can tell.
_LIVES = states.LIVE - {states.STOPPING} | {states.BACKOFF}


class Lifetimes(AgentWatch):
    """Watches every agent that has a lifetime."""

    def __init__(self, context: Context, clock: Callable[[], Moment], tell: Callable[[Notice], None]) -> None:
        super().__init__(context)
        self._clock = clock
        self._tell = tell
        #: When the end of an agent was announced, for the start that it is about.
        self._announced: dict[Key, tuple[Moment, Moment]] = {}

    def _follow(self, key: Key) -> None:
        agent = self._registry.agents.get(key)
        lifetime = agent.upkeep.lifetime if agent is not None else None
        if agent is None or lifetime is None or agent.begun is None or agent.state not in _LIVES:
            self._alarms.cancel(key)
            if self._announced.pop(key, None) is not None:
                self._registry.set_notice(key, _SUBJECT, "")
            return
        begun, announced = self._announced.get(key, (None, None))
        if begun != agent.begun:
            announced = None
        step, seconds = lifetimes.due(lifetime, agent.begun, announced, self._clock())
        do = self._announce if step == lifetimes.ANNOUNCE else self._end
        self._alarms.set(key, seconds, lambda: self._background.spawn(do(key), name=f"lifetime of {key[1]}"))

    async def _announce(self, key: Key) -> None:
        agent = self._registry.agents.get(key)
        if agent is None or agent.begun is None or agent.upkeep.lifetime is None:
            return
        lifetime = agent.upkeep.lifetime
        self._announced[key] = (agent.begun, self._clock())
        left = lifetimes.due(lifetime, agent.begun, self._clock(), self._clock())[1]
        self._registry.set_notice(key, _SUBJECT, lifetime_words.ending(lifetime, left, agent.name))
        event = _event("agent.expiring", agent, lifetime=lifetime, seconds=round(left, 3))
        await self._registry.observe((), [event])
        self._follow(key)
        self._tell(lifetime_words.announced_notice(agent.team, agent.name, agent.begun, lifetime, left))

    async def _end(self, key: Key) -> None:
        async with self._supervisor.lock(key[0]):
            agent = self._registry.agents.get(key)
            # Of one that nobody can see nothing is known, so nothing is done: it rings again when it is seen.
            if agent is None or agent.state not in _LIVES or agent.state == states.UNKNOWN:
                return
            announced = self._announced.get(key)
            lifetime, begun = agent.upkeep.lifetime, agent.begun
            if lifetime is None or begun is None or announced is None or announced[0] != begun:
                self._follow(key)  # it was started anew, or may live longer
                return
            why = lifetime_words.over(lifetime)
            await self._registry.observe((), [_event("agent.expired", agent, lifetime=lifetime)])
            try:
                await self._supervisor.stop(
                    agent.team,
                    [agent.name],
                    DEFAULT_GRACE,
                    SUPERVISOR,
                    lambda live, now: lifecycle.ending(live, why, lifecycle.AND_STAY, now),
                )
            except CorralError as error:
                log.warning("%s/%s is past its lifetime and could not be stopped: %s", *key, error.message)
                self._alarms.set(key, _RETRY_SECONDS, lambda: self._follow(key))
                return
        self._tell(lifetime_words.done_notice(agent.team, agent.name, begun, lifetime))


def _event(event: str, agent: Agent, **data: object) -> NewEvent:
    return NewEvent(event=event, team=agent.team, agent=agent.name, data={"run": agent.run, **data})
