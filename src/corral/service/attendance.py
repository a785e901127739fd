"""Teams that nobody looks after: it is announced, then done what their file says, and undone when somebody shows up.

What counts as a sign of a person is in `domain.attendance`; all that is journalled is heard of (`service.witness`), so
no use case needs to tell. The last sign is in the store, at most a moment late, and so is how far it got: each step is
written before it is taken, and whoever comes after a crash takes it to its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from corral.background import Background
from corral.domain import attendance, attendance_words, states
from corral.domain.attendance import Attendance, Unattended
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.foreign_words import own_remedy, told_error
from corral.domain.moments import Moment, earlier
from corral.domain.notices import Notice
from corral.domain.records import SUPERVISOR, NewEvent, Who
from corral.failpoint import point
from corral.ports.store import Change, Item
from corral.service.alarms import Alarms
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.reactions import Reactions

log = logging.getLogger("corral.daemon")

_KIND = "attendance"
#: Under which subject it is among a team's notices.
_SUBJECT = "unattended"
#: A sign may wait so long to be written, so that a hundred of them are one write.
_SAVE_SECONDS = 0.5
#: Before another try where nobody answered, or the store did not take it.
_RETRY_SECONDS = 10.0
_encode = msgspec.msgpack.Encoder().encode


class AttendanceWatch:
    """One for all teams; those whose file says nothing of it are left alone."""

    def __init__(
        self,
        context: Context,
        ledger: Ledger,
        clock: Callable[[], Moment],
        reactions: Reactions,
        notify: Callable[[Notice], None],
    ) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._store = context.store
        self._now = context.now
        self._ledger = ledger
        self._clock = clock
        self._reactions = reactions
        self._notify = notify
        self._known: dict[str, Attendance] = {}
        self._alarms: Alarms[str] = Alarms()
        self._unsaved: Alarms[str] = Alarms()
        #: Teams that stand still, and to which nobody was attached when that was looked at last.
        self._unwatched: set[str] = set()
        #: Held by whoever takes a step for a team.
        self._steps: dict[str, asyncio.Lock] = {}
        self._background = Background()
        ledger.keep(self._read)

    async def _read(self) -> Callable[[], None]:
        found = {
            item.key: msgspec.msgpack.decode(item.value, type=Attendance) for item in await self._store.items(_KIND)
        }

        def put() -> None:
            # Somebody who was seen was there, whether or not it could be written.
            self._known = {team: _later(self._known.get(team), known) for team, known in found.items()}

        return put

    def begin(self) -> None:
        """Watch from now on. A team that nothing is known of is taken to be attended."""
        self._registry.watch_agents(self._agents_changed)
        now = self._clock()
        for team in self._registry.teams:
            known = self._known.get(team)
            if known is not None and known.seen.boot != now.boot:
                self._known[team] = attendance.after_boot(known, now)
                self._background.spawn(self._save(team), name="attendance")
            self._follow(team)
        # One that came up while no daemon was there.
        self._agents_changed(self._registry.agents)

    async def save(self) -> None:
        """Have every sign that was seen on the disk."""
        for team in list(self._known):
            if team in self._unsaved:
                self._unsaved.cancel(team)
                await self._save(team)

    def end(self) -> None:
        """Watch no more."""
        self._alarms.end()
        self._unsaved.end()
        self._background.cancel()

    # Signs of people

    def hear(self, changes: Sequence[Change]) -> None:
        """Take what was journalled for what it tells of people."""
        for change in changes:
            for event in change.events:
                if event.team and attendance.is_sign(event.event, change.who.agent, change.who.uid):
                    self._sign(change.who, event.team, event.event, event.agent)

    async def welcome(self, who: Who, team: str, event: str) -> None:
        """Somebody asks for something that acts on the team: if that is a person, what was done to it is undone first.

        `event` is what their request will be journalled as. Returns when it is undone, or when it cannot be; then that
        is told as the agent's state is.
        """
        if not attendance.is_person(who.agent, who.uid):
            return
        self._sign(who, team, event)
        known = self._known.get(team)
        if known is not None and known.stage == attendance.RETURNING:
            await self._step(team)

    def meant(self, who: Who, team: str, names: Collection[str]) -> None:
        """A person starts or stops these agents: that is a sign, and what becomes of them is theirs to say."""
        if attendance.is_person(who.agent, who.uid):
            self._sign(who, team, "agent.stopping")
            for name in names:
                self._sign(who, team, "agent.stopping", name)

    def _sign(self, who: Who, team: str, event: str, agent: str = "") -> None:
        if self._rule(team) is None:
            if team in self._known:
                self._forget(team)
            return
        known, now = self._known.get(team), self._clock()
        self._known[team] = attendance.shown_up(
            known or Attendance(seen=now), now, event=event, agent=agent, by=who.user
        )
        if team not in self._unsaved:
            self._unsaved.set(team, _SAVE_SECONDS, lambda: self._background.spawn(self._save(team), name="attendance"))
        self._follow(team)

    def _agents_changed(self, keys: Collection[tuple[str, str]]) -> None:
        """One that comes up by itself in a team that stands still is to stand still, too."""
        for team in {team for team, _ in keys}:
            known = self._known.get(team)
            if known is not None and known.stage == attendance.ALONE and self._stragglers(team, known):
                self._alarms.set(team, 0.0, partial(self._take_step, team))

    def _stragglers(self, team: str, known: Attendance) -> list[str]:
        if known.reaction != attendance.PAUSE:
            return []
        agents = self._registry.of_team(team)
        return [name for name, agent in agents.items() if agent.state == states.RUNNING and not agent.paused]

    # Steps

    def _rule(self, team: str) -> Unattended | None:
        declared = self._registry.teams.get(team)
        return None if declared is None else declared.supervision.unattended

    def _follow(self, team: str) -> None:
        """Take the next step at its time."""
        rule = self._rule(team)
        if rule is None:
            self._forget(team)
            return
        known = self._known.setdefault(team, Attendance(seen=self._clock()))
        stage, seconds = attendance.due(rule, known, self._clock())
        if stage:
            self._alarms.set(team, seconds, lambda: self._take_step(team))
        elif (look := attendance.next_look(known, attached=team not in self._unwatched)) is not None:
            self._alarms.set(team, look, lambda: self._take_step(team))
        else:
            self._alarms.cancel(team)
        self._tell(team, known, rule)

    def _take_step(self, team: str) -> None:
        self._background.spawn(self._step(team), name=f"attendance of {team}")

    async def _step(self, team: str) -> None:
        async with self._steps.setdefault(team, asyncio.Lock()):
            rule = self._rule(team)
            known = self._known.get(team)
            if rule is None or known is None:
                return
            try:
                await self._do(team, rule, known)
            except CorralError as error:
                log.warning("the attendance of team %s is looked at again later: %s", team, error.message)
                self._alarms.set(team, _RETRY_SECONDS, lambda: self._take_step(team))
                return
        self._follow(team)

    async def _do(self, team: str, rule: Unattended, known: Attendance) -> None:
        stage, seconds = attendance.due(rule, known, self._clock())
        if stage in (attendance.ANNOUNCED, attendance.ACTING) and seconds <= 0:
            await self._look_for_keys(team, known)
            if self._known.get(team) != known:
                return  # somebody is there
            if stage == attendance.ANNOUNCED:
                await self._announce(team, rule, known)
            else:
                await self._react(team, rule, attendance.acting(known, rule, self._reactions.meant(team, rule.then)))
        elif stage == attendance.ALONE:
            # It was begun and not finished; whoever has come meanwhile may not have been seen then.
            await self._look_for_keys(team, known)
            if self._known.get(team) == known:
                await self._react(team, rule, known)
        elif stage == attendance.ATTENDED:
            await self._undo(team, known)
        elif known.stage == attendance.ALONE and (late := self._stragglers(team, known)):
            again = attendance.acting(known, Unattended(after=rule.after, then=known.reaction), [*known.agents, *late])
            await self._react(team, rule, again, is_news=False)
        elif known.stage == attendance.ALONE:
            attached = True
            with suppress(CorralError):  # who cannot be seen now may be at the next look
                attached = await self._look_for_keys(team, known)
            if attached:
                self._unwatched.discard(team)
            else:
                self._unwatched.add(team)

    async def _look_for_keys(self, team: str, known: Attendance) -> bool:
        """Ask whether somebody has typed, who is there then. False if nobody is attached who could.

        Keys that a person presses in a terminal are journalled nowhere: so they are asked for before it counts. Raises
        UnavailableError if nobody can tell: a team is not taken to be alone because its tmux is slow.
        """
        keeper = await self._supervisor.keepers.of(team).open()
        idle = (await keeper.last_key(team)).seconds
        now = self._clock()
        # Whoever showed up meanwhile has shown up later.
        if idle is not None and attendance.has_typed(known, idle, now) and self._known.get(team) == known:
            self._known[team] = attendance.shown_up(known, earlier(now, idle), event=attendance.KEYS)
            await self._save(team)
        return idle is not None

    async def _announce(self, team: str, rule: Unattended, known: Attendance) -> None:
        told = attendance.announced(known, self._clock())
        seconds = attendance.due(rule, told, self._clock())[1]
        await self._write(
            team, told, "team.unattended", stage=told.stage, then=rule.then, after=rule.after, seconds=round(seconds, 3)
        )
        if self._concerns_anybody(team, rule.then, self._reactions.meant(team, rule.then)):
            self._notify(attendance_words.announced_notice(team, rule, told, seconds))

    async def _react(self, team: str, rule: Unattended, acting: Attendance, *, is_news: bool = True) -> None:
        await self._write(
            team, acting, "team.unattended", stage=acting.stage, then=acting.reaction, agents=list(acting.agents)
        )
        point("daemon.unattended_written")
        problem = ""
        try:
            await self._reactions.do(team, acting.reaction, acting.agents)
        except UnavailableError:
            raise
        except CorralError as error:
            problem = "; ".join(filter(None, (told_error(error), own_remedy(error))))
            log.warning("team %s is alone, and to %s it failed: %s", team, acting.reaction, error.message)
        point("daemon.unattended_done")
        current = self._known.get(team)
        if current is None or current.stage != attendance.ACTING:
            return  # somebody showed up meanwhile: what was done is undone next
        self._unwatched.discard(team)
        await self._write(
            team,
            attendance.alone(current),
            "team.unattended",
            "failed" if problem else "ok",
            stage=attendance.ALONE,
            then=acting.reaction,
            agents=list(acting.agents),
            **({"reason": problem} if problem else {}),
        )
        if is_news and self._concerns_anybody(team, acting.reaction, acting.agents):
            self._notify(attendance_words.done_notice(team, rule, current, problem))

    def _concerns_anybody(self, team: str, reaction: str, agents: Collection[str]) -> bool:
        """False if it is done to nobody, because nothing of the team runs: that nobody is there is no news then."""
        if reaction != attendance.NOTIFY:
            return bool(agents)
        return any(agent.state not in states.AT_REST for agent in self._registry.of_team(team).values())

    async def _undo(self, team: str, known: Attendance) -> None:
        # Written first: half of it undone, and nobody known to have come, would be left so.
        await self._ledger.write(Change(who=SUPERVISOR, time=self._now(), put_items=[_item(team, known)]))
        await self._reactions.undo(team, known.reaction, known.agents)
        point("daemon.attended_done")
        current = self._known.get(team, known)
        await self._write(
            team,
            attendance.attended(current),
            "team.attended",
            after=known.reaction,
            agents=list(known.agents),
            did=known.did,
            **({"by": known.by} if known.by else {}),
        )

    # Writing

    async def _save(self, team: str) -> None:
        known = self._known.get(team)
        if known is not None:
            with suppress(CorralError):  # it counts in memory, and the next sign is written with it
                await self._ledger.write(Change(who=SUPERVISOR, time=self._now(), put_items=[_item(team, known)]))

    async def _write(self, team: str, known: Attendance, event: str, outcome: str = "ok", **data: object) -> None:
        """How far it got, with the event that tells of it."""
        self._known[team] = known
        told = NewEvent(event=event, team=team, outcome=outcome, data={"seen": known.seen.wall, **data})
        await self._ledger.write(
            Change(who=SUPERVISOR, time=self._now(), put_items=[_item(team, known)], events=[told])
        )

    def _forget(self, team: str) -> None:
        """The team is gone, or its file says nothing of being alone any more."""
        self._alarms.cancel(team)
        self._unsaved.cancel(team)
        self._unwatched.discard(team)
        self._registry.set_notice((team, ""), _SUBJECT, "")
        if self._known.pop(team, None) is not None:
            drop = Change(who=SUPERVISOR, time=self._now(), drop_items=[(_KIND, team)])
            self._background.spawn(self._ledger.write(drop), name=f"forget the attendance of {team}")

    def _tell(self, team: str, known: Attendance, rule: Unattended) -> None:
        text = ""
        if known.stage == attendance.ANNOUNCED:
            text = attendance_words.announcement(rule, attendance.due(rule, known, self._clock())[1])
        elif known.stage in (attendance.ACTING, attendance.ALONE):
            text = attendance_words.happened(rule, known.reaction)
        self._registry.set_notice((team, ""), _SUBJECT, text)


def _item(team: str, known: Attendance) -> Item:
    return Item(_KIND, team, _encode(known))


def _later(memory: Attendance | None, stored: Attendance) -> Attendance:
    if memory is None or memory.stage != stored.stage or memory.seen.boot != stored.seen.boot:
        return stored
    return memory if memory.seen.monotonic > stored.seen.monotonic else stored
