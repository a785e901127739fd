"""`corral up --wait`: until those that had to wait have started as well."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace

from corral.domain import plan, states
from corral.domain.dependencies import obstacle
from corral.domain.records import Agent
from corral.service.progress import Progress, Tell
from corral.service.up_result import AgentOutcome, UpResult, waits
from corral.supervise.registry import Registry


async def until_started(registry: Registry, result: UpResult, seconds: float, tell: Tell) -> UpResult:
    """The result once nobody of it waits whose turn may come by itself; or after so many seconds, as it is then."""
    waiting = [outcome.agent for outcome in result.agents if outcome.action == plan.PENDING]
    total = sum(outcome.action in (plan.START, plan.RESTART) for outcome in result.agents) + len(waiting)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while waiting:
                agents = registry.of_team(result.team)
                for name in [name for name in waiting if not _is_on_its_way(agents.get(name))]:
                    waiting.remove(name)
                    state = agents[name].state if name in agents else states.STOPPED
                    step = "started" if state in states.LIVE else state
                    tell(Progress(agent=name, step=step, done=total - len(waiting), of=total))
                if not any(_may_start(agents[name], agents) for name in waiting):
                    break
                await registry.journal_growth()
    agents = registry.of_team(result.team)
    return replace(result, agents=[_as_it_is(outcome, agents.get(outcome.agent)) for outcome in result.agents])


def _is_on_its_way(agent: Agent | None) -> bool:
    return waits(agent) or (agent is not None and agent.state == states.STARTING)


def _may_start(agent: Agent, team: Mapping[str, Agent]) -> bool:
    """It starts, or what it waits for may come without anybody doing something for it."""
    if agent.state == states.STARTING:
        return True
    kept = obstacle(agent, team)
    if kept is None:
        return True
    others = (team[name] for name in agent.after if name in team)
    return kept.passes and all(_may_start(other, team) for other in others if waits(other))


def _as_it_is(outcome: AgentOutcome, agent: Agent | None) -> AgentOutcome:
    """The outcome for one that had to wait, brought up to date."""
    if outcome.action != plan.PENDING or agent is None:
        return outcome
    failed = agent.state in (states.FAILED, states.BACKOFF)
    action = plan.PENDING if waits(agent) else "failed" if failed else plan.START
    return replace(outcome, action=action, state=agent.state, detail=agent.reason)
