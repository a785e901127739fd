"""Whether somebody looks after a team, and what happens if nobody does. Pure.

A team is attended as long as a person shows up once in a while. When nobody has for the time that its file says, that
is announced, and some time later what the file says is done. Whoever shows up undoes it.

Times are measured with `moments.elapsed`: setting a clock, or a night in which the host was suspended, leaves nobody
alone for longer than they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from corral.domain.moments import Moment, elapsed

NOTIFY, PAUSE, STOP = "notify", "pause", "stop"
#: What can be done to a team that nobody looks after.
REACTIONS = (NOTIFY, PAUSE, STOP)

# How far it got.
#: Somebody was there not long ago.
ATTENDED = "attended"
#: It was announced what will be done.
ANNOUNCED = "announced"
#: It is being done: written before it is, so that whoever comes after a crash does it to its end.
ACTING = "acting"
#: It was done.
ALONE = "alone"
#: Somebody showed up, and what was done is being undone.
RETURNING = "returning"

#: Unless the file says otherwise, it is announced so long before it is done, or a tenth of the time if that is less.
_LONGEST_NOTICE = 600.0
_NOTICE_PART = 0.1

#: Seconds between two looks at whether somebody presses keys in a terminal of a team that stands still.
_LOOK_SECONDS = 3.0
#: tmux tells in whole seconds when a key was pressed: that second may have begun before the sign that is known.
_WHOLE_SECOND = 1.0

#: Events that a person causes at the moment at which they happen, and that are about agents. What comes of it later is
#: not among them: nobody may be there any more. Nor are values, locks, leases and topics: scripts use those alone.
SIGNS = frozenset(
    """agent.attached agent.stopping agent.stopped agent.pausing agent.paused agent.resumed agent.removed agent.adjusted
    agent.forked conversation.left team.up team.down team.adjusted message.queued message.sent message.read
    inbox.claimed inbox.answering inbox.answered inbox.snoozed task.added task.removed task.claimed task.done
    task.released merge.submitted merge.cancelled merge.retried process.started process.written process.signalled
    process.killed session.joined
    """.split()
)
#: In the place of such an event: somebody pressed keys in a terminal, which is journalled nowhere.
KEYS = "keys"
#: Events that tell of a person who wants an agent to stay as it is: it is not woken on their behalf.
_LEAVE_ALONE = frozenset(["agent.stopping", "agent.stopped", "agent.removed", "agent.pausing", "agent.paused"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Unattended:
    """What a team's file says of being left alone."""

    #: Seconds without a sign of a person.
    after: float
    #: One of `REACTIONS`.
    then: str = PAUSE
    #: How long before it happens it is announced, in seconds; None: a tenth of the time, ten minutes at most.
    said_notice: float | None = None

    @property
    def notice(self) -> float:
        """How long before it happens it is announced; never longer than the whole time."""
        said = min(_LONGEST_NOTICE, self.after * _NOTICE_PART) if self.said_notice is None else self.said_notice
        return min(said, self.after)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attendance:
    """What is known of one team; kept in the store."""

    #: The last sign of a person.
    seen: Moment
    stage: str = ATTENDED
    #: When it was announced what will be done.
    announced: Moment | None = None
    #: What was, or is being, done: one of `REACTIONS`; empty before.
    reaction: str = ""
    #: The agents that it was done to.
    agents: tuple[str, ...] = ()
    #: While it is being undone: the user who showed up first, empty if nobody knows; and what they did, one of `SIGNS`
    #: or `KEYS`.
    by: str = ""
    did: str = ""


def is_sign(event: str, agent: str, uid: int) -> bool:
    """True if the event was caused by a person and tells that somebody looks after agents.

    `agent` is the agent that spoke, or `service`, and empty if a person did; `uid` is negative if it was Corral itself.
    What an agent or a service does is no sign of a person, whatever it is.
    """
    return is_person(agent, uid) and event in SIGNS


def is_person(agent: str, uid: int) -> bool:
    """True for a person; not for an agent or a service that speaks for one, nor for Corral itself."""
    return not agent and uid >= 0


def due(rule: Unattended, known: Attendance, now: Moment) -> tuple[str, float]:
    """The stage that comes next, and in how many seconds; with 0, now. An empty stage: nothing comes by itself.

    Nothing is done before it was announced, for the whole notice: also if nobody was there to announce it in time.
    """
    alone = elapsed(known.seen, now)
    if known.stage == ATTENDED:
        return ANNOUNCED, max(0.0, rule.after - rule.notice - alone)
    if known.stage == ANNOUNCED:
        announced = elapsed(known.announced, now) if known.announced is not None else 0.0
        return ACTING, max(0.0, rule.after - alone, rule.notice - announced)
    if known.stage == ACTING:
        return ALONE, 0.0
    if known.stage == RETURNING:
        return ATTENDED, 0.0
    return "", 0.0


def after_boot(known: Attendance, now: Moment) -> Attendance:
    """What holds when it is looked at for the first time in this boot: before that, nobody could be missed.

    How long people have been away counts from now on, and it is announced again before anything is done. What was done
    before stays so. The same if it was looked at in this boot already.
    """
    if known.seen.boot == now.boot:
        return known
    stage = ATTENDED if known.stage == ANNOUNCED else known.stage
    return replace(known, seen=replace(now, wall=known.seen.wall), stage=stage, announced=None)


def announced(known: Attendance, now: Moment) -> Attendance:
    """It is told to whoever listens what will be done."""
    return replace(known, stage=ANNOUNCED, announced=now)


def acting(known: Attendance, rule: Unattended, agents: Iterable[str]) -> Attendance:
    """It is about to be done to these agents."""
    return replace(known, stage=ACTING, reaction=rule.then, agents=tuple(dict.fromkeys(agents)))


def alone(known: Attendance) -> Attendance:
    """It was done."""
    return replace(known, stage=ALONE)


def shown_up(known: Attendance, now: Moment, *, event: str = "", agent: str = "", by: str = "") -> Attendance:
    """Somebody is there: what was done is to be undone, but for an agent that they just said something else about.

    `event` is what they did (one of `SIGNS`, or `KEYS`), `agent` what it was about, `by` who they are, if known.
    """
    left = tuple(name for name in known.agents if not (event in _LEAVE_ALONE and name == agent))
    if known.stage == RETURNING:
        return replace(known, seen=now, agents=left)  # whoever came first has woken it
    if known.stage in (ACTING, ALONE):
        return replace(known, seen=now, stage=RETURNING, announced=None, agents=left, by=by, did=event)
    return Attendance(seen=now)


def has_typed(known: Attendance, idle: float, now: Moment) -> bool:
    """True if the last key in a terminal, so many seconds ago, was pressed after the last sign that is known."""
    return idle + _WHOLE_SECOND < elapsed(known.seen, now)


def next_look(known: Attendance, *, attached: bool) -> float | None:
    """In how many seconds to look for keys in the terminals of a team that was left alone; None: it need not be.

    Only of one that stands still is it looked for, and while somebody is `attached`, or nobody knows: its terminals are
    there, and take keys that nothing else tells of. Whoever attaches is heard of without.
    """
    return _LOOK_SECONDS if known.stage == ALONE and known.reaction == PAUSE and attached else None


def attended(known: Attendance) -> Attendance:
    """What was done is undone."""
    return Attendance(seen=known.seen)
