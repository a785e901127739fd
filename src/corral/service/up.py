"""`corral up`: make the team what its file declares."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from corral import repository
from corral.domain import lifecycle, plan, states
from corral.domain.attendance import is_person
from corral.domain.errors import CorralError, RefusedError
from corral.domain.plan import Step
from corral.domain.records import Who
from corral.domain.repository import check as check_repository
from corral.domain.spec import TeamSpec, fingerprints
from corral.service.agent_room import AgentRoom
from corral.service.context import Context
from corral.service.fork import Fork
from corral.service.merge_book import MergeBook
from corral.service.port_blocks import PortBlocks
from corral.service.progress import Tell
from corral.service.spec_files import SpecFiles
from corral.service.team_names import must_be_of
from corral.service.turn import MayGoOn, as_decided
from corral.service.up_limits import adjust
from corral.service.up_result import AgentOutcome, UpResult, waits
from corral.service.up_waiting import until_started
from corral.service.up_work import UpWork


class Up:
    """The use case."""

    def __init__(
        self,
        context: Context,
        ports: PortBlocks,
        merges: MergeBook,
        forks: Fork,
        room: AgentRoom,
        person_of: Callable[[str], str] | None = None,
    ) -> None:
        """`person_of` says whose an OS user is, on a shared server."""
        self._context = context
        self._person_of = person_of
        self._merges = merges
        self._forks = forks
        self._room = room
        self._ports = ports
        self._registry = context.registry
        self._supervisor = context.supervisor
        #: Reads them, also for who decides about requests.
        self.files = SpecFiles()

    async def __call__(
        self,
        who: Who,
        *,
        file: str,
        text: str,
        only: Sequence[str],
        restart_changed: bool,
        dry_run: bool,
        wait: float | None = None,
        environment: Mapping[str, str],
        tell: Tell,
        may_go_on: MayGoOn = as_decided,
    ) -> UpResult:
        """Start what is missing, leave alone what matches, say what differs.

        What Corral itself had stopped for good is started for a person only. Comes back once all has started that can
        start now. With `wait`, once nobody is in line any more who could start
        without anybody doing something for it, or after so many seconds.

        `may_go_on` is asked when nobody else can have a team of that name started or ended any more, and raises if it
        may not: who has the team may be another by then.
        """
        result = await self._do(
            who,
            file=file,
            text=text,
            only=only,
            restart_changed=restart_changed,
            dry_run=dry_run,
            environment=environment,
            tell=tell,
            may_go_on=may_go_on,
        )
        return result if wait is None or dry_run else await until_started(self._registry, result, wait, tell)

    async def _do(
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
        may_go_on: MayGoOn,
    ) -> UpResult:
        team = await self.files.team(who.user, text, file)
        owner = who.user if self._supervisor.keepers.shared else ""
        async with self._supervisor.lock(team.name), self._supervisor.keepers.claimed(team.name, owner):
            await may_go_on()
            self._refuse_other_user(team.name, owner)
            if owner:
                await must_be_of(self._context.store, team.name, owner)
            self._refuse_other_file(team)
            return await self._make_so(
                who,
                team,
                only=only,
                restart_changed=restart_changed,
                dry_run=dry_run,
                environment=environment,
                tell=tell,
            )

    async def _make_so(
        self,
        who: Who,
        team: TeamSpec,
        *,
        only: Sequence[str],
        restart_changed: bool,
        dry_run: bool,
        environment: Mapping[str, str],
        tell: Tell,
    ) -> UpResult:
        """With the team's lock held."""
        await self._supervisor.be_certain(team.name)
        prints = fingerprints(team.agents, self._context.store.salt, base=team.base)
        steps = plan.make_plan(
            list(prints.items()),
            self._registry.of_team(team.name),
            only=_expanded(team, only),
            restart_changed=restart_changed,
            by_person=is_person(who.agent, who.uid),
        )
        start = [step.agent for step in steps if step.action in (plan.START, plan.RESTART)]
        self._room.check(who.user, team.name, start)
        if start and dry_run:
            return self._result(team.name, steps, dry_run=True, notes=await self._look_first(team, start))
        work = UpWork(self._context, self._ports, who, team, prints, environment, tell, len(start))
        notes: list[str] = []
        before = self._registry.teams.get(team.name)
        if start:
            await work.check(start, self._person_of)  # before anything is changed
        if not dry_run:
            await self._put_in_order(team)
            notes = await adjust(self._context, who, team, prints, steps)
        adjusted = before is not None and before != self._registry.teams.get(team.name)
        if start:
            with self._room.taken(who.user, team.name, start):
                await work.do(steps)
        if not dry_run:
            await work.keep_environments(self._left_stopped(team.name, steps))
        notes += work.notes
        if not dry_run and not only:
            notes += await self._forks.bring_back(who, team.name)
        if start or adjusted:
            notes += [*await self._merge_notes(team), *await self._notify_notes(team)]
        return self._result(team.name, steps, dry_run=dry_run, notes=notes, remedies=work.remedies, adjusted=adjusted)

    def _left_stopped(self, team: str, steps: Sequence[Step]) -> list[str]:
        """Those that stay stopped, because Corral stopped them for good and nobody who asks is a person."""
        agents = self._registry.of_team(team)
        return [
            step.agent for step in steps if step.action == plan.KEEP and lifecycle.stays_stopped(agents[step.agent])
        ]

    async def _merge_notes(self, declared: TeamSpec) -> list[str]:
        """What a person should know of the merge queue."""
        team = self._registry.teams.get(declared.name)
        if team is None or team.repo is None:
            return []
        notes = [self._merges.elsewhere(team)]
        if declared.merge.target:
            repo, target = team.repo, team.merge.target
            try:
                await self._supervisor.insist(
                    declared.name, lambda keeper: keeper.merge_build(repo=repo, target=target, pieces=[])
                )
            except CorralError as error:
                notes.append(f"nothing can be merged: {error.message}; {error.remedy}")
        return [note for note in notes if note]

    async def _notify_notes(self, declared: TeamSpec) -> list[str]:
        """That the command that tells people is not there, if its file is named; one on PATH shows when it runs."""
        program = declared.notify.command[0] if declared.notify.command else ""
        if "/" not in program:
            return []
        path = os.path.normpath(os.path.join(declared.directory, program))
        directory, top = declared.directory, os.path.dirname(path)
        (seen,) = await self._supervisor.insist(
            declared.name, lambda keeper: keeper.look_at_files(cwd=directory, paths=[path], tops=[top])
        )
        if not seen.top or seen.stamp:
            return []
        return [
            f"[notify] command: there is no {path}, so nobody will be told by it; put it there, or name another one"
        ]

    async def _put_in_order(self, team: TeamSpec) -> None:
        """Have the agents that are there stand where the file has them now; those that left it come last."""
        order = {agent.name: position for position, agent in enumerate(team.agents)}
        known = self._registry.of_team(team.name)
        for name in known:
            order.setdefault(name, len(order))
        moved = [replace(agent, position=order[name]) for name, agent in known.items() if agent.position != order[name]]
        if moved:
            await self._registry.observe(moved, ())

    async def _look_first(self, team: TeamSpec, names: Sequence[str]) -> list[str]:
        """Refuse what `up` would refuse. A keeper is asked if there is one, and none is started for it.

        On a shared server it is: the daemon has no business in people's repositories.
        """
        if team.repo is None:
            return []
        link = self._supervisor.keepers.of(team.name)
        keeper = await link.open() if self._supervisor.keepers.shared else link.connected
        seen = await (keeper.repository(team.repo) if keeper else asyncio.to_thread(repository.look, team.repo))
        return check_repository(team, [agent for agent in team.agents if agent.name in names], seen)

    def _refuse_other_user(self, team: str, user: str) -> None:
        """What a file says is done as the team's user: so nobody else says it, whatever they may do otherwise."""
        known = self._registry.teams.get(team)
        if known is not None and known.user != user:
            raise RefusedError(
                f"team {team} is up, and belongs to {known.user}",
                f"give this team another name; {known.user} alone can say what it consists of",
                holder=known.user,
            )

    def _refuse_other_file(self, team: TeamSpec) -> None:
        known = self._registry.teams.get(team.name)
        if known is not None and known.file != team.file:
            raise RefusedError(
                f"team {team.name} is already up, from {known.file}",
                "give this team another name, or take the other one down first",
                holder=known.file,
            )

    def _result(
        self,
        team: str,
        steps: Sequence[Step],
        *,
        dry_run: bool,
        notes: Sequence[str],
        remedies: Mapping[str, str] = MappingProxyType({}),
        adjusted: bool = False,
    ) -> UpResult:
        agents = self._registry.of_team(team)
        outcomes = []
        for step in steps:
            agent = agents.get(step.agent)
            touched = not dry_run and step.action in (plan.START, plan.RESTART)
            failed = touched and agent is not None and agent.state in (states.FAILED, states.BACKOFF)
            outcomes.append(
                AgentOutcome(
                    agent=step.agent,
                    action="failed" if failed else plan.PENDING if touched and waits(agent) else step.action,
                    differs=step.differs,
                    state=agent.state if agent else states.PENDING,
                    detail=agent.reason if agent else "",
                    remedy=remedies.get(step.agent, ""),
                )
            )
        changed = adjusted or any(step.action in (plan.START, plan.RESTART) or step.adjusts for step in steps)
        return UpResult(team=team, dry_run=dry_run, changed=changed, agents=outcomes, notes=notes)


def _expanded(team: TeamSpec, wanted: Sequence[str]) -> list[str]:
    """The agents that were named; the name of a table means all that it declares."""
    names = []
    for name in wanted:
        declared = [agent.name for agent in team.agents if agent.declared_as == name]
        names.extend(declared or [name])
    return names
