"""The use cases around tasks: adding them, claiming them, and what comes of a claim."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from corral.background import Background
from corral.domain import states
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Team, Who
from corral.domain.task_records import (
    DEAD,
    DEFAULT_TTL,
    DELAYED,
    OPEN,
    WEIGHT_OF_ONE,
    Claim,
    NewTask,
    Task,
    check_labels,
    check_ttl,
)
from corral.domain.tasks import Backlog, Changed, Moment
from corral.domain.waits import Waits
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.task_clock import TaskClock
from corral.service.task_waiters import Waiters

log = logging.getLogger("corral.daemon")

_KIND = "task"
#: Seconds that somebody can wait for a task.
LONGEST_WAIT = 86400.0
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Task).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A claim that somebody wants to have."""

    #: For whom: an agent, or the person who asks.
    agent: Agent | None = None
    #: What they can do: they get tasks that ask for nothing else.
    labels: Sequence[str] = ()
    ttl: float = DEFAULT_TTL
    #: Seconds to wait until there is one.
    wait: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A task as it is told of."""

    task: Task
    state: str
    #: The ids of tasks that it waits for.
    missing: list[str]
    #: Labels that it asks for and that no agent of its team has; all of them if none has them together.
    lacking: Sequence[str]
    #: Unix seconds at which its claim would lapse or its rest be over; None if there is neither.
    until: float | None


class Tasks:
    """The use cases."""

    def __init__(self, context: Context, ledger: Ledger, waits: Waits) -> None:
        self._store = context.store
        self._registry = context.registry
        self._now = context.now
        self._ledger = ledger
        self._teams: dict[str, Backlog] = {}
        #: By who added them, as an OS user: what the tasks of all teams weigh.
        self._taken = Counter[str]()
        self._waiters = Waiters(self._of, waits)
        self._background = Background()
        self._clock = TaskClock(is_alive=self._is_alive, lapse=self._on_lapse, rested=self._on_rested)
        ledger.keep(self._read)
        ledger.shares.count_by_user(lambda: self._taken)

    async def _read(self) -> Callable[[], None]:
        found: dict[str, list[Task]] = {}
        for item in await self._store.items(_KIND):
            found.setdefault(item.key.partition("/")[0], []).append(_decode(item.value))

        def put() -> None:
            self._taken = Counter()
            self._teams = {team: Backlog(tasks, self._taken) for team, tasks in found.items()}
            self._clock.follow_only((team, task) for team, backlog in self._teams.items() for task in backlog)
            # Not at once: what is decided while states are being put in place would be lost with them.
            asyncio.get_running_loop().call_soon(self._waiters.tell_all)

        return put

    def end(self) -> None:
        """The daemon goes: nothing is decided by the clock any more."""
        self._clock.stop()

    # Looking

    def show(self, team: Team, task: str) -> Seen:
        """One task, or `NotFoundError`."""
        return self._seen(team.name, self._of(team.name).get(task))

    def list(self, team: Team) -> Iterator[Seen]:
        """All tasks that are kept: those that are claimed first come first, as far as that can be told."""
        tasks = sorted(self._of(team.name), key=lambda task: (-task.priority, task.number))
        return (self._seen(team.name, task) for task in tasks)

    def _seen(self, team: str, task: Task) -> Seen:
        backlog, remaining = self._of(team), self._clock.remaining(team, task.number)
        return Seen(
            task=task,
            state=backlog.state(task),
            missing=[f"t{number}" for number in backlog.missing(task)],
            lacking=self._lacking(team, task) if task.labels and task.state in (OPEN, DELAYED) else (),
            until=None if remaining is None else self._now() + remaining,
        )

    def _lacking(self, team: str, task: Task) -> Sequence[str]:
        had = [set(agent.labels) for agent in self._registry.agents.values() if agent.team == team]
        if any(labels.issuperset(task.labels) for labels in had):
            return ()
        anybody = set[str]().union(*had)
        return [label for label in task.labels if label not in anybody] or list(task.labels)

    # Adding

    async def add(self, who: Who, team: Team, new: NewTask) -> tuple[str, bool]:
        """The id of the task when it is on the disk, and whether it is new: with a key it may have been there."""
        if self._of(team.name).known(new) is None:
            self._must_have_room(who.user, len(new.title) + len(new.body) + WEIGHT_OF_ONE)
        moment = self._moment(who)
        changed = self._of(team.name).add(new, moment, who.user)
        task = changed.task
        if changed.is_change:
            data: dict[str, object] = {"task": task.id, "priority": task.priority}
            await self._write(who, team.name, changed, _event("task.added", team.name, "", data))
        elif task.number > self._ledger.settled:
            # It was decided and is not written yet. What is written behind it is written after it, or refused with it.
            await self._ledger.write(Change(who=who, time=moment.time))
        return task.id, changed.is_change

    # Claiming

    async def claim(self, who: Who, team: Team, wanted: Wanted) -> Seen:
        """The next task, for whoever wants it, when the claim is on the disk. `NotFoundError` if there is none in time.

        A wait that could never end, because every task that could come needs one that is not done before the waiter
        itself goes on, is a `RefusedError`. Whoever goes away while this waits gets none: a claim that nobody would
        hear of is given back.
        """
        check_labels(wanted.labels)
        check_ttl(wanted.ttl)
        if not 0 <= wanted.wait <= LONGEST_WAIT:
            raise WrongUseError(f"nobody can wait for {wanted.wait:g} seconds", f"0 to {LONGEST_WAIT:g} are possible")
        labels = self._labels(wanted)
        party = "/".join(wanted.agent.key) if wanted.agent is not None else who.agent or who.user

        async def take() -> Task | None:
            return await self._take(who, team.name, wanted, labels)

        task = await take()
        if task is None and wanted.wait:
            task = await self._waiters.wait(team.name, party, labels, wanted.wait, take)
        if task is None:
            which = f"no task with no other labels than {', '.join(sorted(labels))}" if labels else "no task"
            waited = f" came in {wanted.wait:g} seconds" if wanted.wait else " can be claimed now"
            raise NotFoundError(which + waited, "corral task ls shows what there is, and what it waits for")
        return self._seen(team.name, task)

    def _labels(self, wanted: Wanted) -> frozenset[str]:
        """What whoever wants a task can do: what it says itself, and what the team's file says of it."""
        if wanted.agent is None:
            return frozenset(wanted.labels)
        agent = self._registry.agents.get(wanted.agent.key, wanted.agent)
        return frozenset([*wanted.labels, *agent.labels])

    async def _take(self, who: Who, team: str, wanted: Wanted, labels: frozenset[str]) -> Task | None:
        backlog = self._of(team)
        number = backlog.first(labels)
        if number is None:
            return None
        moment = self._moment(who)
        claim = self._claim(wanted, moment)
        changed = backlog.claim(number, claim, moment.time)
        task = changed.task
        data: dict[str, object] = {"task": task.id, "token": claim.token, "attempt": task.attempt, "by": claim.by}
        try:
            await self._write(who, team, changed, _event("task.claimed", team, claim.agent, data))
        except asyncio.CancelledError:
            self._background.spawn(self._give_back(who, team, task), name=f"give {task.id} back")
            raise
        return task

    def _claim(self, wanted: Wanted, moment: Moment) -> Claim:
        agent = wanted.agent
        if agent is None:
            return Claim(token=moment.revision, by=moment.by, agent="", run="", ttl=wanted.ttl, time=moment.time)
        # It may have been started anew while it waited.
        current = self._registry.agents.get(agent.key, agent)
        return Claim(
            token=moment.revision,
            by=f"{agent.team}/{agent.name}",
            agent=agent.name,
            run=current.run,
            ttl=wanted.ttl,
            time=moment.time,
        )

    async def _give_back(self, who: Who, team: str, task: Task) -> None:
        try:
            await self._release(who, team, task.id, task.token, "")
        except RefusedError:
            log.info("%s of %s was not to be given back any more", task.id, team)

    # What comes of a claim

    async def renew(self, who: Who, team: Team, task: str, token: int, *, note: str = "") -> Seen:
        """The claim holds for its whole time again. Raises `RefusedError` if it is over."""
        self._must_fit(team.name, task, note)
        changed = self._of(team.name).renew(task, token, self._moment(who), note)
        self._clock.renew(team.name, changed.task.number)
        if changed.is_change:
            await self._write(who, team.name, changed)
        return self._seen(team.name, changed.task)

    async def done(self, who: Who, team: Team, task: str, token: int, *, result: str = "", note: str = "") -> Seen:
        """It is done. Raises `RefusedError` if the claim is over, and then it is not.

        Who did not hear the answer may ask again, with the same token: it stays as it was done.
        """
        changed = self._of(team.name).done(task, token, self._moment(who), result, note)
        if changed.is_change:
            await self._write(who, team.name, changed, _about("task.done", team.name, changed))
        else:
            await self._ledger.caught_up()
        return self._seen(team.name, changed.task)

    async def fail(self, who: Who, team: Team, task: str, token: int, *, note: str = "", final: bool = False) -> Seen:
        """The attempt failed: it is tried again, or dead. Raises `RefusedError` if the claim is over."""
        self._must_fit(team.name, task, note)
        changed = self._of(team.name).fail(task, token, self._moment(who), note, final=final)
        events = _and_death(_about("task.failed", team.name, changed, "failed"), changed)
        await self._write(who, team.name, changed, *events)
        return self._seen(team.name, changed.task)

    async def release(self, who: Who, team: Team, task: str, token: int | None, *, note: str = "") -> Seen:
        """A claim is given back, or a task that nobody has can be claimed again. See `Backlog.release`."""
        return await self._release(who, team.name, task, token, note)

    async def _release(self, who: Who, team: str, task: str, token: int | None, note: str) -> Seen:
        self._must_fit(team, task, note)
        changed = self._of(team).release(task, token, self._moment(who), note)
        await self._write(who, team, changed, _about("task.released", team, changed))
        return self._seen(team, changed.task)

    async def remove(self, who: Who, team: Team, task: str, *, force: bool = False) -> str:
        """Forget a task; its id. `RefusedError` for one that is open, or that others wait for, unless `force`."""
        moment = self._moment(who)
        found = self._of(team.name).remove(task, force=force)
        self._clock.forget(team.name, found.number)
        self._waiters.tell(team.name)
        data: dict[str, object] = {"task": found.id, "state": found.state}
        await self._ledger.write(
            Change(
                who=who,
                time=moment.time,
                drop_items=[(_KIND, f"{team.name}/{found.id}")],
                events=[_event("task.removed", team.name, "", data)],
            )
        )
        return found.id

    def claimed_by(self, team: Team, parties: Collection[str]) -> Sequence[Task]:
        """The tasks that some of these agents (TEAM/AGENT) or people have."""
        return [task for task in self._of(team.name) if task.claim is not None and task.claim.by in parties]

    async def release_all(self, who: Who, team: Team, tasks: Iterable[Task]) -> None:
        """Give these claims back; no attempt is counted. What the store does not take stays, which is logged."""
        work = [self._release(who, team.name, task.id, task.token, "") for task in tasks]
        for error in await asyncio.gather(*work, return_exceptions=True):
            if isinstance(error, CorralError):
                log.error("a claim of %s is not given back: %s", team.name, error.message)
            elif isinstance(error, BaseException):
                raise error

    # What happens by itself

    def _is_alive(self, team: str, claim: Claim) -> bool:
        """True if the run that has the claim may be alive. What is unknown takes nothing away."""
        agent = self._registry.agents.get((team, claim.agent))
        return agent is not None and agent.run == claim.run and agent.state in states.LIVE

    def _on_lapse(self, team: str, number: int, token: int) -> None:
        self._background.spawn(self._lapsed(team, number, token), name=f"lapse of t{number}")

    async def _lapsed(self, team: str, number: int, token: int) -> None:
        changed = self._of(team).lapse(number, token, self._moment(SUPERVISOR))
        if changed is None:
            return
        events = _and_death(_about("task.lapsed", team, changed, "unknown"), changed)
        try:
            await self._write(SUPERVISOR, team, changed, *events)
        except CorralError as error:
            # The claim is there again, with its whole time before it.
            log.error("the lapse of %s of %s was not written: %s", changed.task.id, team, error.message)

    def _on_rested(self, team: str, number: int, revision: int) -> None:
        if self._of(team).rested(number, revision):
            self._waiters.tell(team)

    # Writing

    def _moment(self, who: Who) -> Moment:
        return Moment(self._ledger.next_revision(), self._now(), who.agent or who.user)

    async def _write(self, who: Who, team: str, changed: Changed, *events: NewEvent) -> None:
        """Return when it is on the disk. Nothing may be waited for between the decision and this."""
        for task in changed.put:
            self._clock.follow(team, task)
        self._waiters.tell(team)
        await self._ledger.write(
            Change(
                who=who,
                time=changed.task.time,
                put_items=[Item(_KIND, f"{team}/{task.id}", _encode(task)) for task in changed.put],
                drop_items=[(_KIND, f"{team}/t{number}") for number in changed.dropped],
                events=events,
            )
        )

    def _of(self, team: str) -> Backlog:
        return self._teams.setdefault(team, Backlog(taken=self._taken))

    # Shares

    def _must_have_room(self, user: str, more: int) -> None:
        """`RefusedError` if the share of who added a task, or adds it, has no room for so much more of it."""
        self._ledger.shares.check(self._ledger.shares.person_of(user), more)

    def _must_fit(self, team: str, task: str, note: str) -> None:
        """The same for a note about a task that stays. What is said of one that is done goes by itself with it."""
        if note:
            self._must_have_room(self._of(team).get(task).person, len(note))


def _event(event: str, team: str, agent: str, data: dict[str, object], outcome: str = "ok") -> NewEvent:
    """An event of the journal: ids and numbers, and nothing that a task says."""
    return NewEvent(event=event, team=team, agent=agent, outcome=outcome, data=data)


def _about(event: str, team: str, changed: Changed, outcome: str = "ok") -> NewEvent:
    """What became of a claim; or of a task that nobody had."""
    task, claim = changed.task, changed.ended
    data: dict[str, object] = {"task": task.id, "attempt": task.attempt}
    if claim is not None:
        data |= {"token": claim.token, "by": claim.by}
    return _event(event, team, claim.agent if claim is not None else "", data, outcome)


def _and_death(event: NewEvent, changed: Changed) -> list[NewEvent]:
    if changed.task.state != DEAD:
        return [event]
    return [event, replace(event, event="task.dead", outcome="failed")]


def is_claimed_by(seen: Seen, party: str) -> bool:
    """True if that agent (TEAM/AGENT) or person has it."""
    return seen.task.claim is not None and seen.task.claim.by == party
