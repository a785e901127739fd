"""The first prompt of a run: said once, when the agent is ready, and never twice on a guess."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from corral.domain.errors import CorralError
from corral.domain.foreign_words import told_error
from corral.domain.records import PROMPT_SENDING, PROMPT_SENT, PROMPT_UNKNOWN, PROMPT_WAITING, Agent
from corral.ports.reports import RunReady
from corral.supervise.observe import Findings
from corral.supervise.registry import Registry


@dataclass(frozen=True, slots=True)
class Said:
    """What came of saying a prompt."""

    #: It was submitted.
    ok: bool
    #: Why not, or why nobody can tell.
    reason: str = ""


#: Says the prompt of an agent's run, as every message is sent. Asked again for the same run, it says nothing twice.
Say = Callable[[Agent], Awaitable[Said]]


class Prompts:
    """Sees to it that prompts are said. They go the way of every message; see `service/sends.py`."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._say: Say = _nobody
        #: Runs whose prompt is on its way.
        self._under_way: set[str] = set()

    def go_through(self, say: Say) -> None:
        """Whom to give prompts to."""
        self._say = say

    async def deliver(self, ready: RunReady) -> None:
        """Say the prompt to a run that can take it, if it waits for one."""
        agent = self._registry.agents.get((ready.team, ready.agent))
        if agent is None or agent.run != ready.run or agent.prompt_state != PROMPT_WAITING:
            return
        await self._now(agent, PROMPT_SENDING, "prompt.sending", evidence=ready.evidence)
        await self.resume(agent)

    async def resume(self, agent: Agent) -> None:
        """See a prompt through that is on its way, also one that an earlier daemon was about to say."""
        if agent.run in self._under_way:
            return
        self._under_way.add(agent.run)
        try:
            said = await self._say(agent)
        except CorralError as error:
            said = Said(False, told_error(error))
        finally:
            self._under_way.discard(agent.run)
        if said.ok:
            await self._now(agent, PROMPT_SENT, "prompt.submitted", bytes=len(agent.prompt.encode()))
        else:
            await self._now(agent, PROMPT_UNKNOWN, "prompt.unknown", "unknown", reason=said.reason)

    async def _now(self, said_to: Agent, state: str, event: str, outcome: str = "ok", **data: object) -> None:
        agent = self._registry.agents.get(said_to.key)
        if agent is not None and agent.run == said_to.run:
            findings = Findings()
            findings.note(replace(agent, prompt_state=state), event, outcome, run=agent.run, **data)
            await self._registry.observe(findings.agents.values(), findings.events)


async def _nobody(_: Agent) -> Said:
    return Said(False, "nobody is there to say it")
