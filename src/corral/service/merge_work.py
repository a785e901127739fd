"""The work of a merge queue: one loop for each team that has something in line, and none where there is nothing.

What was decided is written before it is acted on, and each step can be done again: a daemon that is killed on the way
is followed by one that looks where everything is. A batch that was being tested is tested again; a target that may have
been moved is asked whether it was.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from corral.background import Background
from corral.domain import states
from corral.domain.errors import CorralError, RefusedError
from corral.domain.foreign_words import own_remedy, told_error
from corral.domain.merge_queue import MergeQueue
from corral.domain.merge_records import (
    CONFLICT,
    FAILED,
    LANDING,
    MERGED,
    QUEUED,
    REFUSED,
    TESTING,
    GateRun,
    Merge,
)
from corral.domain.merge_rules import MergeRules
from corral.domain.records import SUPERVISOR, Team
from corral.domain.told_names import told_name
from corral.failpoint import point
from corral.ports.merging import Build, MergeStep, Piece
from corral.service.context import Context
from corral.service.merge_batch import Batch, Resting
from corral.service.merge_book import MergeBook
from corral.service.merge_checks import MergeChecks
from corral.service.merge_gates import MergeGates, Tested, described
from corral.service.merge_letters import MergeLetters, message_of
from corral.service.merge_waits import AGAIN_SECONDS, MergeWaits

log = logging.getLogger("corral.daemon")

#: Trees that passed all gates, and need not be tested again if only the target could not be moved.
_MOST_PASSED = 64


@dataclass(slots=True)
class _Run:
    """The loop of one team."""

    task: asyncio.Task[None]
    #: Set when what is being tested is to be given up.
    stop: asyncio.Event = field(default_factory=asyncio.Event)


class MergeWork:
    """Works off the queues of all teams that are up."""

    def __init__(self, context: Context, book: MergeBook, checks: MergeChecks, letters: MergeLetters) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._book = book
        self._checks = checks
        self._letters = letters
        self._gates = MergeGates(context)
        self._waits = MergeWaits(book, letters, context.now)
        self._runs: dict[str, _Run] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        #: Teams that are being taken down, or were: nothing is begun for them until they are up again.
        self._resting: set[str] = set()
        self._passed: dict[tuple[str, MergeRules], tuple[GateRun, ...]] = {}
        self._background = Background()
        context.registry.watch_agents(self._agents_changed)

    # Beginning and ending

    def begin(self) -> None:
        """Go on with what an earlier daemon left in line."""
        for team in self._book.teams:
            self.wake(team)

    def end(self) -> None:
        """The daemon goes. What is in line stays, and the next daemon goes on with it."""
        for timer in self._timers.values():
            timer.cancel()
        self._background.cancel()

    def wake(self, team: str) -> None:
        """There may be something to do for a team."""
        timer = self._timers.pop(team, None)
        if timer is not None:
            timer.cancel()
        if team in self._runs or team in self._resting or team not in self._registry.teams:
            return
        if self._book.queue(team).line(self._registry.teams[team].repository):
            task = self._background.spawn(self._work(team), name=f"merges of {team}")
            self._runs[team] = _Run(task)

    def cancelled(self, team: str, merge: Merge) -> None:
        """Somebody wants a merge no more; `merge` is as it was before that."""
        if merge.state == TESTING:
            self.give_up(team)

    def give_up(self, team: str) -> None:
        """Somebody wants what is being tested no more: the others of the batch go back into the line."""
        run = self._runs.get(team)
        if run is not None:
            run.stop.set()

    async def rest(self, team: str) -> Resting:
        """Nothing is done for a team from now on until it is up again; what stays in line, and what would not go.

        A target that is just being moved is moved first; gates are ended, and their workspace is removed.
        """
        self._resting.add(team)
        self.give_up(team)
        run = self._runs.get(team)
        if run is not None:
            await asyncio.wait({run.task})
        queue, record, left = self._book.queue(team), self._registry.teams.get(team), []
        if record is not None and record.repo is not None and any(queue):
            try:
                left = await self._gates.clear(record)
            except CorralError as error:
                left = [told_error(error)]
        return Resting(waiting=[f"{merge.name} ({merge.branch})" for merge in queue.line()], left=left)

    def _agents_changed(self, keys: Collection[tuple[str, str]]) -> None:
        for team in {team for team, _ in keys}:
            if team in self._resting and self._is_started(team):
                self._resting.discard(team)
            if team not in self._runs and self._book.queue(team).line():
                asyncio.get_running_loop().call_soon(self.wake, team)

    def _is_started(self, team: str) -> bool:
        return any(agent.state in (states.STARTING, states.RUNNING) for agent in self._registry.of_team(team).values())

    # The loop

    async def _work(self, team: str) -> None:
        again = False
        try:
            await self._recover(team)
            while team not in self._resting and (record := self._registry.teams.get(team)) is not None:
                batch = self._book.queue(team).next_batch(record.merge.batch, record.repository)
                if not batch:
                    break
                self._runs[team].stop.clear()
                if not await self._try(record, batch):
                    again = True
                    break
        except CorralError as error:
            log.warning("the merge queue of %s waits: %s", team, error.message)
            again = True
            await self._waits.say_why(team, self._line(team), error)
        finally:
            del self._runs[team]
            if again and team not in self._resting:
                self._timers[team] = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self.wake, team)

    def _line(self, team: str) -> list[Merge]:
        """Those of a team that are on the way into the repository that it is up in."""
        record = self._registry.teams.get(team)
        return self._book.queue(team).line(record.repository if record is not None else "")

    async def _recover(self, team: str) -> None:
        """Take up what was left half done: by a daemon that was killed, or by a keeper that did not answer."""
        record = self._registry.teams.get(team)
        line = self._line(team)
        begun = [merge for merge in line if merge.state != QUEUED]
        if record is None or record.repo is None or not begun:
            return
        landing = [merge for merge in begun if merge.state == LANDING]
        if landing:
            await self._move(record, landing)
        await self._gates.clear(record)
        testing = [merge.number for merge in begun if merge.state == TESTING]
        if testing:
            await self._waits.back(team, testing, "it is tested again: the test before was interrupted")

    async def _try(self, team: Team, merges: Sequence[Merge]) -> bool:
        """Try a batch. False if nothing can be done now, and it is to be tried again in a while."""
        batch, busy = await self._built(team, merges)
        if batch is None:
            return True
        if busy:
            return await self._waits.wait(team.name, batch.numbers, busy)
        await self._note_testing(team.name, batch)
        point("daemon.merge_testing_written")
        key = (batch.tree, team.merge)
        runs = self._passed.get(key, ())
        if team.merge.gates and key not in self._passed:
            tested = await self._test(team, batch)
            if tested.stopped:
                await self._waits.back(team.name, batch.numbers, "it is tested again: the test before was called off")
                return True
            runs = tested.runs
            if tested.failure is not None:
                await self._blame(team, batch, tested.runs, tested.failure)
                return True
            self._passed[key] = runs
            if len(self._passed) > _MOST_PASSED:
                del self._passed[next(iter(self._passed))]
        if team.name in self._resting or self._runs[team.name].stop.is_set():
            await self._waits.back(team.name, batch.numbers, "")
            return True
        return await self._land(team, batch, runs)

    async def _test(self, team: Team, batch: Batch) -> Tested:
        async def tell(step: str) -> None:
            await self._book.decide(
                team.name,
                lambda queue, revision, now: [
                    queue.change(number, revision, now, step=step)
                    for number in batch.numbers
                    if queue.get(number).state == TESTING
                ],
                "",
            )

        name = f"{batch.merges[0].name}-{batch.commit[:10]}"
        tested = await self._gates.run(team, team.merge, batch.commit, name, self._runs[team.name].stop, tell)
        if tested.left:
            await self._book.decide(
                team.name,
                lambda queue, revision, now: [queue.change(batch.numbers[0], revision, now)],
                "merge.residue",
                who=SUPERVISOR,
                outcome="failed",
                data={"left": list(tested.left)},
            )
        return tested

    # Merging

    async def _built(self, team: Team, merges: Sequence[Merge]) -> tuple[Batch | None, str]:
        """The batch as far as it can be tested together, and why the target could not be moved now.

        What can never go in as it is goes back at once. None if the rest has to be merged again because of that.
        """
        target, repo = team.merge.target, team.repo or ""
        pieces = [
            Piece(name=merge.name, tip=merge.tip, message=message_of(merge, target), person=merge.person)
            for merge in merges
        ]
        build: Build = await self._supervisor.insist_at(
            team.name, lambda keeper: keeper.merge_build(repo=repo, target=target, pieces=pieces)
        )
        by_name = {merge.name: merge for merge in merges}
        clean: list[tuple[Merge, MergeStep]] = []
        for step in build.steps:
            merge = by_name[step.name]
            if step.outcome == "clean":
                clean.append((merge, step))
            elif step.outcome != "later":
                await self._settle_step(team, merge, step, build.base)
        for merge, step in clean:
            try:
                await self._checks.check(team, merge, step.paths, too_many=step.too_many, ignore_case=build.ignore_case)
            except RefusedError as error:
                await self._refuse(team, merge, build.base, error)
                return None, ""
        if not clean:
            return None, ""
        batch = Batch(
            base=build.base,
            merges=[merge for merge, _ in clean],
            steps=[step for _, step in clean],
            ignore_case=build.ignore_case,
        )
        return batch, build.busy

    async def _settle_step(self, team: Team, merge: Merge, step: MergeStep, base: str) -> None:
        """An end that follows from merging alone."""
        target = team.merge.target
        if step.outcome == "already":
            reason = f"{target} had all of it already"
            await self._finish(merge, "merge.merged", MERGED, reason=reason, commit=base, base=base, target=target)
        elif step.outcome == "conflict":
            files = tuple(told_name(os.fsdecode(file)) for file in step.files)
            await self._letters.conflict(merge, target, base, files)
            point("daemon.merge_letter_sent")
            reason = f"{merge.branch} and {target} change the same lines of {len(files)} file{'s' * (len(files) != 1)}"
            remedy = f"git merge {target} on the branch, resolve, commit, then corral merge retry {merge.name}"
            await self._finish(
                merge, "merge.conflict", CONFLICT, reason=reason, remedy=remedy, files=files, base=base, target=target
            )
        else:
            why = {
                "unrelated": f"{merge.branch} and {target} have no commit in common",
                "missing": f"the commit {merge.tip[:12]} of {merge.branch} is gone",
            }[step.outcome]
            error = RefusedError(why, "look at the branch; more on it can be submitted again")
            await self._refuse(team, merge, base, error)

    async def _refuse(self, team: Team, merge: Merge, base: str, error: RefusedError) -> None:
        await self._letters.refused(merge, team.merge.target, error)
        why, remedy = told_error(error), own_remedy(error)
        await self._finish(merge, "merge.refused", REFUSED, reason=why, remedy=remedy, base=base)

    async def _finish(self, merge: Merge, event: str, state: str, **facts: object) -> None:
        """It is at an end, unless somebody cancelled it meanwhile."""

        def finish(queue: MergeQueue, revision: int, now: float) -> list[Merge]:
            if not queue.get(merge.number).is_on_the_way:
                return []
            return [queue.change(merge.number, revision, now, state=state, step="", group=0, **facts)]

        await self._book.decide(merge.team, finish, event, outcome="ok" if state == MERGED else "failed")

    # Testing

    async def _note_testing(self, team: str, batch: Batch) -> None:
        commits = dict(zip(batch.numbers, (step.commit for step in batch.steps), strict=True))
        target = self._registry.teams[team].merge.target
        await self._book.decide(
            team,
            lambda queue, revision, now: [
                queue.change(
                    number, revision, now,
                    state=TESTING, base=batch.base, commit=commit, batch=batch.numbers, target=target,
                    gates=(), step="",
                )
                for number, commit in commits.items()
                if queue.get(number).is_on_the_way
            ],
            "merge.testing",
            data={"batch": [merge.name for merge in batch.merges], "tested": batch.commit},
        )  # fmt: skip

    async def _blame(self, team: Team, batch: Batch, runs: tuple[GateRun, ...], failure: GateRun) -> None:
        """A gate failed: one alone goes back to whose it is, several are split."""
        if len(batch.merges) > 1:
            await self._book.decide(
                team.name,
                lambda queue, revision, now: [
                    queue.change(merge.number, revision, now, gates=runs)
                    for merge in queue.split(
                        [number for number in batch.numbers if queue.get(number).is_on_the_way], revision, now
                    )
                ],
                "merge.split",
                outcome="failed",
                data={"batch": [merge.name for merge in batch.merges], "gate": described(failure)},
            )
            return
        (merge,) = batch.merges
        await self._letters.failed(merge, team.merge.target, failure)
        point("daemon.merge_letter_sent")
        await self._finish(
            merge, "merge.failed", FAILED,
            reason=f"merged into {team.merge.target}, {described(failure)}",
            remedy=f"read what it wrote, mend it, commit, then corral merge retry {merge.name}",
            gates=runs,
        )  # fmt: skip

    # Landing

    async def _land(self, team: Team, batch: Batch, runs: tuple[GateRun, ...]) -> bool:
        for merge, step in zip(batch.merges, batch.steps, strict=True):
            try:
                await self._checks.check(team, merge, step.paths, too_many=step.too_many, ignore_case=batch.ignore_case)
            except RefusedError as error:
                # The others are merged without it, and so tested again.
                await self._refuse(team, merge, batch.base, error)
                await self._waits.back(team.name, batch.numbers, "one of its batch was refused")
                return True
        if any(not self._book.queue(team.name).get(number).is_on_the_way for number in batch.numbers):
            await self._waits.back(team.name, batch.numbers, "one of its batch was cancelled")
            return True
        landing = await self._book.decide(
            team.name,
            lambda queue, revision, now: [
                queue.change(number, revision, now, state=LANDING, step="", gates=runs) for number in batch.numbers
            ],
            "merge.landing",
        )
        point("daemon.merge_landing_written")
        return await self._move(team, landing)

    async def _move(self, team: Team, merges: Sequence[Merge]) -> bool:
        """Move the target over merges that are about to land, or did already. False if it cannot be moved now."""
        new, target = merges[-1].commit, merges[0].target
        # What is not as it was tested is not landed, because the target is the team's no more or one of the batch was
        # cancelled; but whether it had landed before that is asked.
        whole = {merge.number for merge in merges}.issuperset(merges[-1].batch)
        old = merges[0].base if whole and target == team.merge.target else ""
        repo = team.repo or ""
        landing = await self._supervisor.insist_at(
            team.name, lambda keeper: keeper.merge_land(repo=repo, target=target, old=old, new=new)
        )
        point("daemon.merge_landed")
        numbers = [merge.number for merge in merges]
        if landing.outcome == "landed":
            await self._book.decide(
                team.name,
                lambda queue, revision, now: [
                    queue.change(number, revision, now, state=MERGED, group=0, step="") for number in numbers
                ],
                "merge.merged",
            )
            return True
        if landing.outcome == "moved":
            await self._waits.back(team.name, numbers, f"{landing.why}: it is merged again", event="merge.moved")
            return True
        return await self._waits.wait(team.name, numbers, landing.why)
