"""The first prompt of a run: said once, when the agent is ready, and never twice on a guess."""

from __future__ import annotations

from dataclasses import replace

from corral.domain.errors import CorralError
from corral.domain.records import PROMPT_SENDING, PROMPT_SENT, PROMPT_UNKNOWN, PROMPT_WAITING
from corral.ports.reports import RunReady
from corral.supervise.link import KeeperLink
from corral.supervise.observe import Findings
from corral.supervise.registry import Registry


class Prompts:
    """Delivers prompts. What is under way is written down first: after a crash it is unknown, and not repeated."""

    def __init__(self, registry: Registry, link: KeeperLink) -> None:
        self._registry = registry
        self._link = link

    async def deliver(self, ready: RunReady) -> None:
        """Say the prompt to a run that can take it, if it waits for one."""
        agent = self._registry.agents.get((ready.team, ready.agent))
        if agent is None or agent.run != ready.run or agent.prompt_state != PROMPT_WAITING:
            return
        keeper = await self._link.open()
        await self._now(ready, PROMPT_SENDING, "prompt.sending", evidence=ready.evidence)
        try:
            await keeper.send(ready.team, ready.run, agent.prompt, enter=True, last=not agent.stdin)
        except CorralError as error:
            await self._now(ready, PROMPT_UNKNOWN, "prompt.unknown", "unknown", reason=error.message)
        else:
            await self._now(ready, PROMPT_SENT, "prompt.submitted", bytes=len(agent.prompt.encode()))

    async def _now(self, ready: RunReady, state: str, event: str, outcome: str = "ok", **data: object) -> None:
        agent = self._registry.agents.get((ready.team, ready.agent))
        if agent is not None and agent.run == ready.run:
            findings = Findings()
            findings.note(replace(agent, prompt_state=state), event, outcome, run=ready.run, **data)
            await self._registry.observe(findings.agents.values(), findings.events)
