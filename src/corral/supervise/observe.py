"""What a look at the host means for what we know. Pure: records and observations in, records and events out."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from corral.domain import conversations, lifecycle, states
from corral.domain.foreign_words import told_words
from corral.domain.records import (
    PROMPT_SENDING,
    PROMPT_WAITING,
    Agent,
    NewEvent,
    Team,
)
from corral.domain.terminals import NO_TERMINAL
from corral.ports.reports import Degraded, ProcessEnded, RunReady
from corral.ports.runs import ExitStatus, Inventory, ReadyOrder, Run
from corral.supervise.confines import confines_of


@dataclass(slots=True)
class Findings:
    """What follows from an observation."""

    agents: dict[tuple[str, str], Agent] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)
    #: Agents to be started again after a pause.
    restart: list[Agent] = field(default_factory=list)
    #: Agents whose stop was interrupted, to be stopped for good.
    finish_stop: list[Agent] = field(default_factory=list)
    #: Runs whose first prompt is on its way; nobody may see to that any more.
    resume_prompt: list[Agent] = field(default_factory=list)
    #: Runs whose first prompt still waits for the agent to be ready.
    await_ready: list[Agent] = field(default_factory=list)

    def note(self, agent: Agent, event: str, outcome: str = "ok", **data: object) -> None:
        """Keep a changed agent together with the event that tells of it."""
        self.agents[agent.key] = agent
        self.events.append(NewEvent(event=event, team=agent.team, agent=agent.name, outcome=outcome, data=data))


def process_ended(findings: Findings, report: ProcessEnded) -> None:
    """A command that was started for an agent has ended: that is told, and changes nothing about the agent."""
    code = report.exit.shell_code
    findings.events.append(
        NewEvent(
            event="process.exited",
            team=report.team,
            agent=report.agent,
            outcome="unknown" if code is None else "ok",
            data={"process": report.process, "exit_code": code},
        )
    )


def degraded(findings: Findings, report: Degraded) -> None:
    """A keeper goes on with less than was asked for: that is told."""
    findings.events.append(
        NewEvent(
            event="agent.degraded",
            team=report.team,
            agent=report.agent,
            outcome="degraded",
            data={"reason": report.why},
        )
    )


def ready_order(team: Team, agent: Agent) -> ReadyOrder:
    """What a keeper has to know to tell when the run of an agent is ready."""
    return ReadyOrder(
        run=agent.run,
        rule=agent.ready_when,
        directory=agent.workspace,
        bind=agent.bind,
        confines=confines_of(team, agent),
    )


def run_ready(findings: Findings, agent: Agent, report: RunReady) -> None:
    """A run is ready: those that come after it may start. One that stands still only looks so."""
    alive = agent.run == report.run and agent.state in (states.STARTING, states.RUNNING)
    if alive and not agent.ready and not agent.paused:
        findings.note(replace(agent, ready=True), "agent.ready", run=report.run, evidence=report.evidence)


def from_inventory(agents: Iterable[Agent], inventory: Inventory, now: float, *, said_by: str = "") -> Findings:
    """Bring the records of one team in line with what its keeper sees: on a shared server, the one of `said_by`."""
    findings = Findings()
    runs = {run.run: run for run in inventory.runs}
    for agent in agents:
        if agent.state == states.BACKOFF:
            findings.restart.append(agent)
        if inventory.survivors is not None:
            _count_again(findings, agent, inventory.survivors.get(agent.name, 0))
        if agent.state not in states.LIVE:
            continue
        run = runs.get(agent.run)
        plain = agent.terminal == NO_TERMINAL
        server, why = (inventory.host, inventory.host_why) if plain else (inventory.server, inventory.why)
        if server == "unknown":
            silent = "the host of its process does not answer" if plain else "tmux does not answer"
            _lose_sight(findings, agent, told_words(said_by, why) or silent, now)
        elif agent.state == states.STOPPING:
            # Also when its terminal is gone: what it had started may not be.
            findings.finish_stop.append(agent)
        elif run is not None and run.alive == "present":
            _see(findings, agent, run, now)
        elif run is not None:
            run_exited(findings, agent, run, now)
        elif _never_seen(agent):
            # It was still being started when sight of it was lost.
            ended = lifecycle.interrupted(agent, agent.reason or "its start was interrupted", now)
            findings.note(ended, "agent.failed", "failed", reason=ended.reason, run=agent.run, next=ended.state)
            if ended.state == states.BACKOFF:
                findings.restart.append(ended)
        else:
            # Proved absent, by a server that answers or by there being none; how it ended nobody saw.
            why = "its terminal is gone" if server == "present" else lifecycle.SERVER_GONE
            left = (inventory.survivors or {}).get(agent.name, 0)
            if plain:
                why, left = "the record of its process is gone", 0
            gone = Run(agent=agent.name, run=agent.run, exit=ExitStatus(), problem=why, survivors=left)
            run_exited(findings, agent, gone, now)
    return findings


def _count_again(findings: Findings, agent: Agent, survivors: int) -> None:
    counted = lifecycle.surviving(agent, lifecycle.SERVER_GONE, survivors)
    if counted is not agent:
        findings.agents[agent.key] = counted


def run_started(findings: Findings, agent: Agent, run: Run, now: float) -> Agent:
    """A run was started: the keeper has seen its process."""
    alive = lifecycle.running(
        agent,
        run.pid,
        now,
        containment=run.containment,
        containment_why=run.containment_why,
        cgroup=run.cgroup,
    )
    findings.note(alive, "agent.started", run=run.run, pid=run.pid, workspace=agent.workspace)
    return alive


def run_exited(findings: Findings, agent: Agent, run: Run, now: float) -> None:
    """A run ended: the policy decides what is next."""
    status = run.exit or ExitStatus()
    name = signal_name(status.signal)
    code = status.shell_code
    how = lifecycle.how_it_ended(code, name)
    if run.survivors:
        how = lifecycle.lost_terminal(run.problem, run.survivors)
    elif why := run.problem or lifecycle.out_of_memory(run.oom_kills, code):
        how += f" ({why})"
    if agent.state == states.STOPPING:
        # Its end was asked for; whoever asked tells when everything of it is gone.
        findings.agents[agent.key] = replace(agent, exit_code=code, exit_signal=status.signal)
        return
    if _never_seen(agent):
        # Its end was heard of before its start was written down, and what ended did start.
        agent = run_started(findings, agent, run, now)
    ended = lifecycle.exited(agent, code, status.signal, how, now, words=run.last_words)
    ended = replace(ended, survivors=run.survivors)
    ended = lifecycle.surviving(ended, run.problem, run.survivors)
    ended = _conversation_after(findings, ended, code, status.signal, now)
    findings.note(
        ended,
        "agent.exited",
        "ok" if code == 0 else "failed",
        run=run.run,
        exit_code=code,
        signal=name or None,
        reason=how,
        last_words=run.last_words,
        oom_kills=run.oom_kills or None,
        next=ended.state,
    )
    if ended.state == states.BACKOFF:
        findings.restart.append(ended)
    elif ended.state == states.FAILED and ended.crashes:
        crash_loop(findings, ended)


def _never_seen(agent: Agent) -> bool:
    """It is not written down that its run was started or found."""
    return agent.state == states.STARTING or agent.pid is None


def _conversation_after(findings: Findings, ended: Agent, code: int | None, signal: int | None, now: float) -> Agent:
    """What becomes of the conversation of a run that ended. That one could not be continued is told."""
    ended, lost = conversations.after_exit(ended, code, signal, now)
    if not lost:
        return ended
    what = f"its conversation {lost} could not be continued: the next start begins a new one"
    findings.events.append(
        NewEvent(
            event="conversation.not_resumed",
            team=ended.team,
            agent=ended.name,
            outcome="failed",
            data={"session": lost, "run": ended.run},
        )
    )
    return replace(ended, reason=f"{ended.reason}; {what}")


def crash_loop(findings: Findings, agent: Agent) -> None:
    """It ended so often that it is not started again: a person is told all there is to know of it."""
    findings.note(
        agent,
        "agent.failed",
        "failed",
        run=agent.run,
        reason=agent.reason,
        exit_code=agent.exit_code,
        signal=signal_name(agent.exit_signal) or None,
        crashes=agent.crashes,
        last_words=agent.last_words,
    )


def lose_sight(agents: Iterable[Agent], why: str, now: float) -> Findings:
    """The keeper cannot be reached: nothing is known of any of these."""
    findings = Findings()
    for agent in agents:
        _lose_sight(findings, agent, why, now)
    return findings


def _lose_sight(findings: Findings, agent: Agent, why: str, now: float) -> None:
    unseen = lifecycle.unseen(agent, why, now)
    if unseen is not agent:
        findings.note(unseen, "agent.unknown", "unknown", reason=why)


def _see(findings: Findings, agent: Agent, run: Run, now: float) -> None:
    # Whoever started it may have died before it was written down where it is.
    besides = {"cgroup": run.cgroup} if run.cgroup and not agent.cgroup else {}
    seen = lifecycle.running(agent, run.pid, now, **besides)
    if seen.state != agent.state or seen.pid != agent.pid:
        findings.note(seen, "agent.found", run=run.run, pid=run.pid, was=agent.state)
    elif seen is not agent:
        findings.agents[seen.key] = seen
    if seen.prompt_state == PROMPT_WAITING or not (seen.ready or seen.paused):
        findings.await_ready.append(seen)
    if seen.prompt_state == PROMPT_SENDING:
        findings.resume_prompt.append(seen)


def signal_name(number: int | None) -> str:
    """SIGKILL for 9; the number itself where it has no name; empty for none."""
    if number is None:
        return ""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
