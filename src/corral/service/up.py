"""`corral up`: make the team what its file declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corral.domain import plan, spec, states
from corral.domain.errors import RefusedError
from corral.domain.plan import Step
from corral.domain.records import Who
from corral.domain.spec import TeamSpec, fingerprint
from corral.service.context import Context
from corral.service.progress import Tell
from corral.service.up_work import UpWork


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """What `up` did with one agent."""

    agent: str
    action: str
    differs: Sequence[str] = ()
    state: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpResult:
    """What `up` did."""

    team: str
    dry_run: bool
    changed: bool
    agents: Sequence[AgentOutcome]
    notes: Sequence[str] = ()


class Up:
    """The use case."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._registry = context.registry
        self._supervisor = context.supervisor

    async def __call__(
        self,
        who: Who,
        *,
        file: str,
        text: str,
        only: Sequence[str],
        restart_changed: bool,
        dry_run: bool,
        environment: Mapping[str, str],
        tell: Tell,
    ) -> UpResult:
        """Start what is missing, leave alone what matches, say what differs."""
        team = spec.parse(text, file)
        async with self._supervisor.lock(team.name):
            self._refuse_other_file(team)
            await self._supervisor.be_certain(team.name)
            prints = {agent.name: fingerprint(agent, self._context.store.salt, base=team.base) for agent in team.agents}
            steps = plan.make_plan(
                list(prints.items()),
                self._registry.of_team(team.name),
                only=_expanded(team, only),
                restart_changed=restart_changed,
            )
            start = [step.agent for step in steps if step.action in (plan.START, plan.RESTART)]
            notes: list[str] = []
            if start and not dry_run:
                work = UpWork(self._context, who, team, prints, environment, tell, len(start))
                notes = await work.do(steps)
            return self._result(team.name, steps, dry_run=dry_run, notes=notes)

    def _refuse_other_file(self, team: TeamSpec) -> None:
        known = self._registry.teams.get(team.name)
        if known is not None and known.file != team.file:
            raise RefusedError(
                f"team {team.name} is already up, from {known.file}",
                "give this team another name, or take the other one down first",
                holder=known.file,
            )

    def _result(self, team: str, steps: Sequence[Step], *, dry_run: bool, notes: Sequence[str]) -> UpResult:
        agents = self._registry.of_team(team)
        outcomes = []
        for step in steps:
            agent = agents.get(step.agent)
            touched = not dry_run and step.action in (plan.START, plan.RESTART)
            failed = touched and agent is not None and agent.state in (states.FAILED, states.BACKOFF)
            outcomes.append(
                AgentOutcome(
                    agent=step.agent,
                    action="failed" if failed else step.action,
                    differs=step.differs,
                    state=agent.state if agent else "",
                    detail=agent.reason if agent else "",
                )
            )
        changed = any(step.action in (plan.START, plan.RESTART) for step in steps)
        return UpResult(team=team, dry_run=dry_run, changed=changed, agents=outcomes, notes=notes)


def _expanded(team: TeamSpec, wanted: Sequence[str]) -> list[str]:
    """The agents that were named; the name of a table means all that it declares."""
    names = []
    for name in wanted:
        declared = [agent.name for agent in team.agents if agent.declared_as == name]
        names.extend(declared or [name])
    return names
