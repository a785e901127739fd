"""The use cases of the merge queue: submitting a branch, looking, cancelling, trying again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from corral.domain.copies import branch_of, copy_beside, guest_of
from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.merge_queue import MergeQueue
from corral.domain.merge_records import Merge, number_of
from corral.domain.records import Agent, Team, Who
from corral.failpoint import point
from corral.ports.merging import Submission
from corral.service.context import Context
from corral.service.merge_book import MergeBook
from corral.service.merge_checks import MergeChecks, branch_owner
from corral.service.merge_work import MergeWork

LONGEST_WAIT = 86400.0
_MOST_TOKENS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What became of a submission."""

    #: None if the target has all of the branch already.
    merge: Merge | None
    #: It was in line before, with the same commit.
    again: bool = False
    branch: str
    target: str
    #: What a person should know besides.
    note: str = ""


class Merges:
    """The use cases."""

    def __init__(self, context: Context, book: MergeBook, checks: MergeChecks, work: MergeWork) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._lending = context.lending
        self._book = book
        self._checks = checks
        self._work = work

    async def submit(
        self,
        who: Who,
        team: Team,
        agent: Agent | None,
        *,
        branch: str,
        cwd: str,
        tokens: Sequence[int],
        trace: str = "",
    ) -> Submitted:
        """Put a branch into the line; without a name, the one that the agent, or whoever asks, is on.

        It is merged as it is now: what is committed later is not part of it. The same again is no harm.
        """
        _check_count(tokens)
        seen = await self._look(team, agent, cwd, branch)
        note = ""
        if seen.uncommitted:
            files = "1 file is" if seen.uncommitted == 1 else f"{seen.uncommitted} files are"
            note = f"{files} changed where {seen.branch} is checked out, and in no commit: not part of this"
        target = team.merge.target
        if seen.already:
            return Submitted(merge=None, branch=seen.branch, target=target, note=note)
        whose = agent.name if agent is not None else self._owner(team, seen.branch)

        def merge_of(number: int, now: float) -> Merge:
            return Merge(
                number=number,
                team=team.name,
                branch=seen.branch,
                tip=seen.tip,
                subject=seen.subject,
                target=target,
                repository=team.repository,
                agent=whose,
                person=who.user,
                uid=who.uid,
                run=agent.run if agent is not None else "",
                trace=trace,
                tokens=tuple(tokens),
                place=number,
                revision=number,
                submitted_at=now,
                changed_at=now,
            )

        await self._checks.check(
            team, merge_of(0, self._now()), seen.paths, too_many=seen.too_many, ignore_case=seen.ignore_case
        )
        there = self._book.queue(team.name).waiting_of(seen.branch, team.repository)
        if there is not None:
            return Submitted(merge=self._same(there, seen), again=True, branch=seen.branch, target=target, note=note)
        gone: list[Merge] = []

        def decide(queue: MergeQueue, revision: int, now: float) -> list[Merge]:
            merge = merge_of(revision, now)
            gone.extend(queue.submit(merge))
            return [merge]

        (merge,) = await self._book.decide(team.name, decide, "merge.submitted", who=who)
        point("daemon.merge_submitted")
        await self._book.drop(gone)
        self._work.wake(team.name)
        return Submitted(merge=merge, branch=seen.branch, target=target, note=note)

    @staticmethod
    def _same(there: Merge, seen: Submission) -> Merge:
        """The entry of the branch that is on its way, if it is of the same commit."""
        if there.tip == seen.tip:
            return there
        raise RefusedError(
            f"{there.name} of {there.branch} is on its way with {there.tip[:12]}, and the branch is at {seen.tip[:12]}",
            f"wait for it, or corral merge cancel {there.name} and submit again",
            merge=there.name,
        )

    def _owner(self, team: Team, branch: str) -> str:
        """The agent whose branch it is by its name; empty if it is nobody's."""
        name = branch_owner(team, branch)
        return name if (team.name, name) in self._registry.agents else ""

    async def _look(self, team: Team, agent: Agent | None, cwd: str, branch: str) -> Submission:
        """The branch as it is in the team's repository: what a guest has committed on it comes there before."""
        if team.repo is None:
            raise RefusedError(f"team {team.name} has no repository", 'add repo = "." to [team] in corral.toml')
        directory = agent.workspace if agent is not None else cwd
        if agent is None or not guest_of(team, agent):
            await self._bring_over(team, self._owner(team, branch))
            return await self._look_at(team, team.repo, directory, branch, team.merge.target)
        assert self._lending is not None
        # Which branch is checked out there, and what is in no commit of it, only its own keeper sees. What else is in
        # the copy under the name of the target is no matter.
        in_copy = await self._look_at(team, copy_beside(directory), directory, branch, None)
        name = self._owner(team, in_copy.branch)
        if name == agent.name:
            await self._bring_over(team, name)
            # Only there it may have another name.
            branch = branch_of(team.name, name)
        else:
            await (self._bring_over(team, name) if name else self._lending.exchange(team, agent))
            branch = in_copy.branch
            if await self._lending.in_copy_alone(team, agent, branch):
                own = branch_of(team.name, agent.name)
                raise RefusedError(
                    f"{branch} as it is now is in {agent.name}'s copy of the repository alone: of its branches {own} "
                    "comes into it",
                    f"git switch {own}, and git merge what is to go in; then submit that",
                )
        seen = await self._look_at(team, team.repo, "", branch, team.merge.target)
        return msgspec.structs.replace(seen, uncommitted=in_copy.uncommitted)

    async def _look_at(self, team: Team, repo: str, directory: str, branch: str, target: str | None) -> Submission:
        return await self._supervisor.insist_at(
            team.name,
            lambda keeper: keeper.merge_look(repo=repo, directory=directory, branch=branch, target=target),
            directory,
        )

    async def _bring_over(self, team: Team, name: str) -> None:
        """Have the repository know what an agent of that name committed, if it works in a copy."""
        agent = self._registry.agents.get((team.name, name))
        if agent is not None and self._lending is not None:
            await self._lending.hand_in(team, agent)

    def teams_that_wait(self) -> list[str]:
        """Those that have something in line, whether they are up or not."""
        return [team for team in self._book.teams if self._book.queue(team).line()]

    def all(self, team: str) -> list[Merge]:
        """All that are kept: those at an end, the oldest first, then those in line."""
        return list(self._book.queue(team))

    def elsewhere(self, team: Team) -> str:
        """That some of a team are of another repository than it is up in, in words; empty if none is."""
        return self._book.elsewhere(team)

    def waiting(self, team: str) -> list[Merge]:
        """Those on the way, the first first."""
        return self._book.queue(team).line()

    async def show(self, team: str, name: str, *, wait: float = 0.0, after: int | None = None) -> Merge:
        """One entry. With `wait`, when it is at an end, or with `after` when it has changed since that revision."""
        if not 0 <= wait <= LONGEST_WAIT:
            raise WrongUseError(f"wait={wait:g}: 0 to {LONGEST_WAIT:g} seconds are possible")
        number = number_of(name)
        merge = self._book.queue(team).get(number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while merge.is_on_the_way and (after is None or merge.revision <= after):
                    await self._book.change()
                    merge = self._book.queue(team).get(number)
        return merge

    async def cancel(self, who: Who, team: str, name: str) -> Merge:
        """Take one out of the line."""
        number = number_of(name)
        before: list[Merge] = []

        def decide(queue: MergeQueue, revision: int, now: float) -> list[Merge]:
            before.append(queue.get(number))
            return [queue.cancel(number, revision, now)]

        (merge,) = await self._book.decide(team, decide, "merge.cancelled", who=who)
        self._work.cancelled(team, before[0])
        return merge

    async def retry(self, who: Who, team: Team, name: str, *, tokens: Sequence[int], trace: str = "") -> Merge:
        """Put one that is at an end into the line again, at its end, with what its branch is at now.

        It relies on these tokens; without any, on those that it had before.
        """
        _check_count(tokens)
        number = number_of(name)
        queue = self._book.queue(team.name)
        queue.check_retry(number, team.repository)
        known = queue.get(number)
        known = replace(known, tokens=tuple(tokens) or known.tokens, repository=team.repository, run="", trace=trace)
        seen = await self._look(team, None, "", known.branch)
        await self._checks.check(team, known, seen.paths, too_many=seen.too_many, ignore_case=seen.ignore_case)
        (merge,) = await self._book.decide(
            team.name,
            lambda queue, revision, now: [
                queue.retry(replace(known, tip=seen.tip, subject=seen.subject, target=team.merge.target), revision, now)
            ],
            "merge.retried",
            who=who,
        )
        self._work.wake(team.name)
        return merge


def _check_count(tokens: Sequence[int]) -> None:
    if len(tokens) > _MOST_TOKENS:
        raise WrongUseError(f"these are {len(tokens)} tokens", f"at most {_MOST_TOKENS} are possible")
