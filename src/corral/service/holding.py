"""The use cases `pause` and `resume`: agents stand still with everything they started, and go on where they were.

Whenever an agent may be standing still, its record says so: `paused` is written before it is frozen, and taken back
after it was thawed. A crash in between leaves one that runs and is called paused; either command, said again, makes it
right.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corral.domain import lifecycle, states
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.foreign_words import told_error
from corral.domain.records import PROMPT_SENDING, PROMPT_WAITING, Agent, NewEvent, Who
from corral.service.context import Context
from corral.service.progress import Progress, Tell
from corral.service.turn import MayGoOn, as_decided
from corral.supervise.observe import ready_order

#: How long a first prompt that is just being said may take to be out before its agent is frozen.
_PROMPT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHeld:
    """What became of one agent that was to be paused or resumed."""

    agent: str
    state: str
    paused: bool
    #: False if it was so already, or if nothing of it runs.
    changed: bool
    detail: str = ""


class Holding:
    """The use cases."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor

    async def pause(
        self,
        who: Who,
        team: str,
        names: Sequence[str],
        *,
        everyone: bool,
        tell: Tell,
        may_go_on: MayGoOn = as_decided,
    ) -> list[AgentHeld]:
        """Freeze agents. One that is named and does not run is an error; of everyone, those that run are meant."""
        async with self._supervisor.lock(team):
            await may_go_on()
            running = await self._running(team, names, "paused", everyone=everyone)
            fresh = [agent for agent in running if not agent.paused]
            for agent in running:
                tell(Progress(agent=agent.name, step="pausing", of=len(running)))
            await self._note(who, fresh, "agent.pausing", lifecycle.paused)
            await self._until_prompts_are_out(fresh)
            try:
                # Those that are paused already, too: nobody knows who woke them meanwhile.
                await self._freeze(team, running, frozen=True)
            except CorralError as error:
                await self._back(who, team, fresh, error)
                raise
            await self._note(who, fresh, "agent.paused", lifecycle.paused)
        return self._held(team, names, {agent.name for agent in fresh}, tell, "paused")

    async def resume(
        self,
        who: Who,
        team: str,
        names: Sequence[str],
        *,
        everyone: bool,
        tell: Tell,
        may_go_on: MayGoOn = as_decided,
    ) -> list[AgentHeld]:
        """Let agents go on. One that is not paused is left alone."""
        async with self._supervisor.lock(team):
            await may_go_on()
            running = await self._running(team, names, "resumed", everyone=everyone)
            paused = [agent for agent in running if agent.paused]
            for agent in paused:
                tell(Progress(agent=agent.name, step="resuming", of=len(paused)))
            try:
                await self._freeze(team, paused, frozen=False)
            except CorralError as error:
                outcome = "unknown" if isinstance(error, UnavailableError) else "failed"
                await self._note(who, paused, "agent.resumed", lifecycle.paused, outcome, reason=told_error(error))
                raise
            await self._note(who, paused, "agent.resumed", lifecycle.resumed)
            await self._await_ready(paused)
        return self._held(team, names, {agent.name for agent in paused}, tell, "resumed")

    async def _running(self, team: str, names: Sequence[str], what: str, *, everyone: bool) -> list[Agent]:
        await self._supervisor.be_certain(team, names)
        agents = [self._registry.agent(team, name) for name in names]
        running = [agent for agent in agents if agent.state == states.RUNNING]
        others = [agent for agent in agents if agent.state != states.RUNNING]
        if others and not (everyone and running):
            said = ", ".join(f"{agent.name} is {agent.state}" for agent in others)
            raise CorralError(
                f"{said}: only what runs can be {what}",
                f"corral restart {others[0].name} starts it; nothing was changed",
            )
        return running

    async def _freeze(self, team: str, agents: Sequence[Agent], *, frozen: bool) -> None:
        runs = [agent.run for agent in agents]
        if runs:
            names = [agent.name for agent in agents]
            await self._supervisor.insist(team, lambda keeper: keeper.freeze(team, runs, frozen=frozen), names)

    async def _until_prompts_are_out(self, agents: Sequence[Agent]) -> None:
        """A prompt that is half said when its agent freezes would be taken for something else when it wakes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PROMPT_SECONDS):
                while any(self._current(agent).prompt_state == PROMPT_SENDING for agent in agents):
                    await self._registry.journal_growth()

    async def _await_ready(self, agents: Sequence[Agent]) -> None:
        """Prompts were held back: have it told when their agents can take them."""
        for agent in agents:
            current = self._current(agent)
            if current.prompt_state == PROMPT_WAITING or not current.ready:
                keeper = await self._supervisor.keepers.of_agent(agent).open()
                await keeper.watch_ready(agent.team, ready_order(self._registry.teams[agent.team], agent))

    async def _back(self, who: Who, team: str, agents: Sequence[Agent], error: CorralError) -> None:
        """It failed: back to how it was, if that can be done. If not, they may be frozen, and their records say so."""
        try:
            await self._freeze(team, agents, frozen=False)
        except CorralError:
            await self._note(who, agents, "agent.paused", lifecycle.paused, "unknown", reason=told_error(error))
        else:
            await self._note(who, agents, "agent.paused", lifecycle.resumed, "failed", reason=told_error(error))
            await self._await_ready(agents)

    async def _note(
        self,
        who: Who,
        agents: Sequence[Agent],
        event: str,
        become: Callable[[Agent], Agent],
        outcome: str = "ok",
        **data: object,
    ) -> None:
        """Write it down. Not refused by a store that cannot be written: one who fills the disk must be held, too."""
        if agents:
            now = [self._current(agent) for agent in agents]
            await self._registry.observe(
                [become(agent) for agent in now if agent.state in states.LIVE],
                [_event(event, agent, outcome, **data) for agent in agents],
                who,
            )

    def _current(self, agent: Agent) -> Agent:
        """The agent as it is known now: a prompt may have gone out meanwhile."""
        return self._registry.agents.get(agent.key, agent)

    def _held(self, team: str, names: Sequence[str], changed: set[str], tell: Tell, step: str) -> list[AgentHeld]:
        held = []
        for done, name in enumerate(names, 1):
            agent = self._registry.agent(team, name)
            if agent.state == states.RUNNING:
                tell(Progress(agent=name, step=step, done=done, of=len(names)))
            paused = agent.paused and agent.state in states.LIVE
            held.append(
                AgentHeld(agent=name, state=agent.state, paused=paused, changed=name in changed, detail=agent.reason)
            )
        return held


def _event(event: str, agent: Agent, outcome: str = "ok", **data: object) -> NewEvent:
    return NewEvent(event=event, team=agent.team, agent=agent.name, outcome=outcome, data={"run": agent.run, **data})
