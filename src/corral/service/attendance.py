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
from corral.domain import attendance, states
from corral.domain.attendance import Attendance, Unattended
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.moments import Moment, earlier, elapsed
from corral.domain.records import SUPERVISOR, NewEvent, Who
from corral.domain.spec_durations import roughly, shown_duration
from corral.failpoint import point
from corral.ports.store import Change, Item
from corral.service.alarms import Alarms
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.reaching import tell_attached
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

    def __init__(self, context: Context, ledger: Ledger, clock: Callable[[], Moment], reactions: Reactions) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._store = context.store
        self._now = context.now
        self._ledger = ledger
        self._clock = clock
        self._reactions = reactions
        self._known: dict[str, Attendance] = {}
        self._alarms: Alarms[str] = Alarms()
        self._unsaved: Alarms[str] = Alarms()
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
        for team in self._registry.teams:
            self._follow(team)

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
                    self._sign(event.team, event.event, event.agent)

    async def welcome(self, who: Who, team: str) -> None:
        """Somebody asks for something that acts on the team: if that is a person, what was done to it is undone first.

        Returns when it is, or when it cannot be; then that is told as the agent's state is.
        """
        if not attendance.is_person(who.agent, who.uid):
            return
        self._sign(team)
        known = self._known.get(team)
        if known is not None and known.stage == attendance.RETURNING:
            await self._step(team)

    def meant(self, who: Who, team: str, names: Collection[str]) -> None:
        """A person starts or stops these agents: that is a sign, and what becomes of them is theirs to say."""
        if attendance.is_person(who.agent, who.uid):
            self._sign(team)
            for name in names:
                self._sign(team, "agent.stopping", name)

    def _sign(self, team: str, event: str = "", agent: str = "") -> None:
        if self._rule(team) is None:
            self._forget(team)
            return
        known, now = self._known.get(team), self._clock()
        self._known[team] = attendance.shown_up(known or Attendance(seen=now), now, event=event, agent=agent)
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
            if await self._somebody_types(team, known) or self._known.get(team) != known:
                return  # somebody is there
            if stage == attendance.ANNOUNCED:
                await self._announce(team, rule, known)
            else:
                await self._react(team, attendance.acting(known, rule, self._reactions.meant(team, rule.then)))
        elif stage == attendance.ALONE:
            await self._react(team, known)
        elif stage == attendance.ATTENDED:
            await self._undo(team, known)
        elif known.stage == attendance.ALONE and (late := self._stragglers(team, known)):
            again = attendance.acting(known, Unattended(after=rule.after, then=known.reaction), [*known.agents, *late])
            await self._react(team, again)

    async def _somebody_types(self, team: str, known: Attendance) -> bool:
        """Keys that a person presses in a terminal are journalled nowhere: so they are asked for before it counts."""
        keeper = self._supervisor.link.connected
        if keeper is None:
            return False
        idle = None
        with suppress(CorralError):  # whoever cannot be seen to type is not known to be there
            idle = (await keeper.last_key(team)).seconds
        now = self._clock()
        # A second of tmux may have begun before the sign that is known.
        if idle is None or idle + 1.0 >= elapsed(known.seen, now):
            return False
        self._known[team] = attendance.shown_up(known, earlier(now, idle))
        await self._save(team)
        return True

    async def _announce(self, team: str, rule: Unattended, known: Attendance) -> None:
        told = attendance.announced(known, self._clock())
        seconds = attendance.due(rule, told, self._clock())[1]
        await self._write(
            team, told, "team.unattended", stage=told.stage, then=rule.then, after=rule.after, seconds=round(seconds, 3)
        )
        await tell_attached(self._supervisor, team, team, _announcement(rule, seconds))

    async def _react(self, team: str, acting: Attendance) -> None:
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
            problem = f"{error.message}; {error.remedy}" if error.remedy else error.message
            log.warning("team %s is alone, and to %s it failed: %s", team, acting.reaction, error.message)
        point("daemon.unattended_done")
        current = self._known.get(team)
        if current is None or current.stage != attendance.ACTING:
            return  # somebody showed up meanwhile: what was done is undone next
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

    async def _undo(self, team: str, known: Attendance) -> None:
        # Written first: half of it undone, and nobody known to have come, would be left so.
        await self._ledger.write(Change(who=SUPERVISOR, time=self._now(), put_items=[_item(team, known)]))
        await self._reactions.undo(team, known.reaction, known.agents)
        point("daemon.attended_done")
        current = self._known.get(team, known)
        await self._write(
            team, attendance.attended(current), "team.attended", after=known.reaction, agents=list(known.agents)
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
        # Whoever follows the journal is woken by the registry's writes.
        await self._registry.observe((), ())

    def _forget(self, team: str) -> None:
        """The team is gone, or its file says nothing of being alone any more."""
        self._alarms.cancel(team)
        self._unsaved.cancel(team)
        self._registry.set_notice((team, ""), _SUBJECT, "")
        if self._known.pop(team, None) is not None:
            drop = Change(who=SUPERVISOR, time=self._now(), drop_items=[(_KIND, team)])
            self._background.spawn(self._ledger.write(drop), name=f"forget the attendance of {team}")

    def _tell(self, team: str, known: Attendance, rule: Unattended) -> None:
        text = ""
        if known.stage == attendance.ANNOUNCED:
            text = _announcement(rule, attendance.due(rule, known, self._clock())[1])
        elif known.stage in (attendance.ACTING, attendance.ALONE):
            text = _happened(rule, known)
        self._registry.set_notice((team, ""), _SUBJECT, text)


def _announcement(rule: Unattended, seconds: float) -> str:
    what = {attendance.NOTIFY: "that is told", attendance.PAUSE: "it is paused", attendance.STOP: "it is stopped"}
    return (
        f"nobody has looked after this team for a while: in {roughly(seconds)} {what[rule.then]}, "
        "unless somebody attaches, answers or sends something"
    )


def _happened(rule: Unattended, known: Attendance) -> str:
    alone = f"nobody has looked after this team for {shown_duration(rule.after)}"
    what = {
        attendance.NOTIFY: "",
        attendance.PAUSE: ", so it is paused; it goes on when somebody shows up: corral attach, send or resume",
        attendance.STOP: ", so it is stopped; corral up starts it again",
    }
    return alone + what.get(known.reaction, "")


def _item(team: str, known: Attendance) -> Item:
    return Item(_KIND, team, _encode(known))


def _later(memory: Attendance | None, stored: Attendance) -> Attendance:
    if memory is None or memory.stage != stored.stage or memory.seen.boot != stored.seen.boot:
        return stored
    return memory if memory.seen.monotonic > stored.seen.monotonic else stored
