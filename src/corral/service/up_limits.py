"""The part of `corral up` that changes what runs without restarting it: limits, labels, and the terms of leases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from corral.domain.enforcement import enforcement_as_json, enforcement_differences
from corral.domain.lease_terms import lease_term_differences, lease_terms_as_json
from corral.domain.limits import limit_differences, limits_as_json
from corral.domain.merge_rules import merge_rule_differences, merge_rules_as_json, settled
from corral.domain.notify import notify_as_json, notify_differences
from corral.domain.plan import Step
from corral.domain.process_limits import process_limit_differences, process_limits_as_json
from corral.domain.recording import recording_as_json, recording_differences
from corral.domain.records import NewEvent, Team, Who
from corral.domain.spec import TeamSpec, adjusted
from corral.domain.supervision import supervision_as_json, supervision_differences
from corral.service.context import Context
from corral.service.worktrees import guard


async def adjust(
    context: Context, who: Who, team: TeamSpec, prints: Mapping[str, dict[str, str]], steps: Sequence[Step]
) -> list[str]:
    """Apply the limits of the file to agents that run, and to their team. What a person should know, in words.

    Applied first and written down then: limits that are set twice are the same limits. Those of `[processes]` are only
    written down, and go along with the next command.
    """
    known = context.registry.teams.get(team.name)
    if known is None:
        return []
    steps = [step for step in steps if step.adjusts]
    notes = []
    if known.systemd != team.systemd:
        notes.append(f'systemd = "{team.systemd}" holds for agents that are started from now on')
    if known.group_access != team.group_access:
        notes.append("group_access holds for the worktrees of agents that are started from now on")
    declared = {agent.name: agent for agent in team.agents}
    limits = {step.agent: declared[step.agent].limits for step in steps}
    if limits or known.limits != team.limits:
        keeper = await context.supervisor.keepers.of(team.name).open()
        notes += await keeper.limit(team.name, limits, team.limits)
    merge = settled(team.merge, known.merge, head="")
    if known.enforcement != team.enforcement or known.merge.target != merge.target:
        notes += await _guard(context, replace(known, enforcement=team.enforcement, merge=merge))
    if differences := merge_rule_differences(known.merge, merge):
        notes.append(f"taken over for the merge queue: {', '.join(differences)}")
    await _write_down(context, who, team, known, prints, steps)
    return notes


async def _guard(context: Context, team: Team) -> list[str]:
    """Have the hooks of all worktrees of the team be as the file says now."""
    keeper = await context.supervisor.keepers.of(team.name).open()
    agents = context.registry.of_team(team.name).values()
    notes = {agent.name: await guard(keeper, team, agent) for agent in agents}
    return [f"{name}: {note}" for name, note in notes.items() if note]


async def _write_down(
    context: Context,
    who: Who,
    team: TeamSpec,
    known: Team,
    prints: Mapping[str, dict[str, str]],
    steps: Sequence[Step],
) -> None:
    registry = context.registry
    declared = {agent.name: agent for agent in team.agents}
    agents, events = [], []
    for step in steps:
        agent = registry.agents[team.name, step.agent]
        wanted = declared[step.agent]
        limits, labels = wanted.limits, wanted.labels
        # How patiently it is started again comes with its policy, which waits for a restart.
        upkeep = replace(wanted.upkeep, restarts=agent.upkeep.restarts)
        fingerprint = adjusted(agent.fingerprint, prints[step.agent])
        agents.append(
            replace(agent, limits=limits, labels=labels, upkeep=upkeep, after=wanted.after, fingerprint=fingerprint)
        )
        data: dict[str, object] = {"changed": list(step.adjusts), "limits": limits_as_json(limits)}
        events.append(NewEvent(event="agent.adjusted", team=team.name, agent=step.agent, data=data))
    merge = settled(team.merge, known.merge, head="")
    changed = [
        *limit_differences(known.limits, team.limits),
        *process_limit_differences(known.processes, team.processes),
        *lease_term_differences(known.leases, team.leases),
        *merge_rule_differences(known.merge, merge),
        *enforcement_differences(known.enforcement, team.enforcement),
        *supervision_differences(known.supervision, team.supervision),
        *notify_differences(known.notify, team.notify),
        *recording_differences(known.recording, team.recording),
    ]
    if changed:
        data = {
            "changed": changed,
            "limits": limits_as_json(team.limits),
            "processes": process_limits_as_json(team.processes),
            "leases": lease_terms_as_json(team.leases),
            "merge": merge_rules_as_json(merge),
            "enforcement": enforcement_as_json(team.enforcement),
            "supervision": supervision_as_json(team.supervision),
            "notify": notify_as_json(team.notify),
            "recording": recording_as_json(team.recording),
        }
        events.append(NewEvent(event="team.adjusted", team=team.name, data=data))
    record = replace(
        known,
        limits=team.limits,
        systemd=team.systemd,
        processes=team.processes,
        leases=team.leases,
        ports=team.ports,
        merge=merge,
        enforcement=team.enforcement,
        supervision=team.supervision,
        notify=team.notify,
        recording=team.recording,
        group_access=team.group_access,
    )
    if agents or record != known:
        await registry.commit(who, teams=[record], agents=agents, events=events)
        await context.supervisor.record(team.name)
