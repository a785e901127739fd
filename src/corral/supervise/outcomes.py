"""What became of starting and of stopping, as the keeper told it, written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from corral.domain import lifecycle, states
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.foreign_words import told_error, told_words
from corral.domain.records import Agent, NewEvent, Who
from corral.ports.runs import Ended, Run
from corral.supervise import observe
from corral.supervise.observe import Findings
from corral.supervise.registry import Registry


class Outcomes:
    """Writes them down. `now` is unix time; `suspect` has a team looked at."""

    def __init__(self, registry: Registry, now: Callable[[], float], suspect: Callable[[str], None]) -> None:
        self._registry = registry
        self._now = now
        self._suspect = suspect

    async def started(self, team: str, runs: Sequence[Run]) -> None:
        """Runs were started, or could not be."""
        now = self._now()
        findings = Findings()
        for run in runs:
            agent = self._registry.agents[team, run.agent]
            if agent.run != run.run or agent.state != states.STARTING:
                continue  # it ended already, and both that and its start were noted
            if run.problem:
                why = told_words(self._registry.run_by(agent), run.problem)
                failed = lifecycle.not_started(agent, why, now)
                findings.note(failed, "agent.failed", "failed", reason=why, run=run.run)
            else:
                observe.run_started(findings, agent, run, now)
        await self._registry.observe(findings.agents.values(), findings.events)

    async def start_failed(self, begun: Sequence[Agent], error: CorralError) -> None:
        """Runs were to be started, and it failed as a whole."""
        now, why = self._now(), told_error(error)
        findings = Findings()
        for agent in begun:
            current = self._registry.agents[agent.key]
            if current.run != agent.run or current.state != states.STARTING:
                continue
            if isinstance(error, UnavailableError):
                findings.note(lifecycle.unseen(current, why, now), "agent.unknown", "unknown", reason=why)
            else:
                findings.note(lifecycle.not_started(current, why, now), "agent.failed", "failed", reason=why)
        await self._registry.observe(findings.agents.values(), findings.events)
        if isinstance(error, UnavailableError) and begun:
            self._suspect(begun[0].team)

    async def stopped(self, team: str, runs: Mapping[str, Agent], ended: Ended, who: Who) -> list[Agent]:
        """Runs were ended: what their agents are now."""
        now = self._now()
        gone = set(ended.gone)
        agents, events = [], []
        for run, before in runs.items():
            current = self._registry.agents.get(before.key, before)
            status = ended.exits.get(run)
            code = current.exit_code
            if status is not None:
                code = status.shell_code
            if run in gone:
                agent = lifecycle.stopped(current, code, status.signal if status else current.exit_signal, now)
                why = {"reason": agent.reason, "next": agent.state} if agent.reason else {}
                events.append(event_of("agent.stopped", agent, exit_code=code, killed=ended.killed or None, **why))
            else:
                left = ", ".join(f"{thing.pid} {thing.command}" for thing in ended.residue)
                agent = replace(current, state=states.FAILED, since=now, reason=f"left behind: {left}")
                events.append(event_of("agent.stopped", agent, outcome="failed", reason=agent.reason))
            agents.append(agent)
            self._registry.forget_activity((team, agent.name))
        findings = Findings(events=events)
        for agent in agents:
            findings.agents[agent.key] = agent
            if agent.state == states.FAILED and agent.crashes:
                observe.crash_loop(findings, agent)
        await self._registry.observe(findings.agents.values(), findings.events, who)
        return agents


def event_of(event: str, agent: Agent, outcome: str = "ok", **data: object) -> NewEvent:
    """An event of an agent; what is None is left out of its data."""
    return NewEvent(
        event=event,
        team=agent.team,
        agent=agent.name,
        outcome=outcome,
        data={name: value for name, value in data.items() if value is not None},
    )
