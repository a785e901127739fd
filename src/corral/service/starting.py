"""Agents and services that do not come up in time: that is told, and acted on where the file says so.

What others can rely on: `agent.late` tells of each run that is not up in time. If it is left as it is, `late` of its
record says why it is not up, and is empty again once it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from corral.agents import catalogue
from corral.domain import starting, states
from corral.domain.activity import Activity
from corral.domain.records import Agent, NewEvent
from corral.service.agent_watch import AgentWatch, Key
from corral.service.context import Context
from corral.service.ending import end_by_policy

#: Under which subject it is among an agent's notices.
_SUBJECT = "late"


class StartWatch(AgentWatch):
    """One timer for each run that is not up. `typing` tells what the prompt of a run waits for."""

    def __init__(self, context: Context, typing: Callable[[Agent], str]) -> None:
        super().__init__(context)
        self._context = context
        self._typing = typing
        #: Which run each timer is of, and how long it was set for.
        self._set_for: dict[Key, tuple[str, float]] = {}

    def begin(self) -> None:
        """Watch from now on. A run that an earlier daemon watched gets its whole time again."""
        self._registry.watch_activity(self._does_something_else)
        super().begin()

    def _does_something_else(self, key: Key, _: Activity) -> None:
        agent = self._registry.agents.get(key)
        if agent is not None and not starting.is_up(agent):
            self._follow(key)

    def _follow(self, key: Key) -> None:
        agent = self._registry.agents.get(key)
        if agent is None or agent.late or not self._is_awaited(agent):
            self._alarms.cancel(key)
            self._set_for.pop(key, None)
            self._settle(key, agent)
            return
        wanted = (agent.run, starting.seconds(agent))
        if self._set_for.get(key) != wanted:
            self._set_for[key] = wanted
            self._alarms.set(key, wanted[1], lambda: self._background.spawn(self._late(key), name=f"{key[1]} is late"))

    def _settle(self, key: Key, agent: Agent | None) -> None:
        """Have it told of as long as it is late, and no longer."""
        late = agent.late if agent is not None and agent.state == states.RUNNING else ""
        if agent is not None and late and starting.is_up(agent):
            self._background.spawn(self._note(agent, ""), name=f"{agent.name} is up")
            late = ""
        remedy = f"; corral attach {agent.name} shows it, corral restart {agent.name} starts it anew" if agent else ""
        self._registry.set_notice(key, _SUBJECT, late and late + remedy)

    def _is_awaited(self, agent: Agent) -> bool:
        return starting.is_awaited(agent, self._registry.activity(agent.key))

    async def _late(self, key: Key) -> None:
        agent = self._registry.agents.get(key)
        run, _ = self._set_for.pop(key, ("", 0.0))
        if agent is None or agent.run != run or not self._is_awaited(agent):
            return
        has_profile = catalogue.for_command(agent.command, agent.shell) is not None
        why = starting.in_words(agent, typing=self._typing(agent), has_profile=has_profile)
        event = NewEvent(
            event="agent.late",
            team=agent.team,
            agent=agent.name,
            outcome="failed",
            data={"run": agent.run, "reason": why, "start_timeout": starting.seconds(agent)},
        )
        if not starting.is_to_end(agent):
            await self._note(agent, why, event)
        else:
            await self._note(agent, "", event)
            await end_by_policy(self._context, agent, why, starting.is_to_end)

    async def _note(self, agent: Agent, late: str, *events: NewEvent) -> None:
        current = self._registry.agents.get(agent.key)
        if current is not None and current.run == agent.run:
            changed = [replace(current, late=late)] if current.late != late else []
            await self._registry.observe(changed, events)
