"""Sharing an agent's terminal: joining, who is there, and what a moderator does.

The daemon carries what is shown and what is typed. Whether it is taken is the keeper's to say, by the mode of the seat;
who may have which mode is decided before anybody gets here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import msgspec

from corral.background import Background
from corral.domain import session_words
from corral.domain.errors import CorralError, UnavailableError, WrongUseError
from corral.domain.foreign_words import as_told_to, foreign_words
from corral.domain.notices import Notice
from corral.domain.records import Agent, NewEvent, Who
from corral.domain.session_modes import ACTIONS, END, MODES, OBSERVE
from corral.domain.timestamps import can_be
from corral.ports.dialogs import Peer
from corral.ports.keeper import Keeper
from corral.ports.sessions import SeatOrder, SessionOutput, SessionOver, SharedSession
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.lists import Asked, ask_each
from corral.service.people import must_be_a_person
from corral.service.reaching import keeper_soon
from corral.service.running import without_terminal_told

log = logging.getLogger("corral.daemon")

#: The kind of record that says who is at a terminal: a daemon that was killed could not say that they left.
_KIND = "seat"
#: Why somebody left who said so, who did not, and who was there when the daemon was killed.
LEFT, LOST, DAEMON_GONE = "left", "the connection was lost", "the daemon ended"
#: The events of what a moderator does.
_EVENTS = {"mute": "muted", "unmute": "unmuted", "handover": "handed_over", "release": "released", "end": "ended"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """How somebody wants to join."""

    mode: str
    columns: int
    rows: int
    term: str = ""


class _Seated(msgspec.Struct, frozen=True):
    """Somebody who is at a terminal, as it is kept."""

    who: Who
    team: str
    agent: str
    mode: str


class Joined:
    """A seat, for as long as its owner has a connection."""

    def __init__(
        self, keeper: Keeper, agent: Agent, order: SeatOrder, attending: asyncio.Task[SessionOver], user: str
    ) -> None:
        """`user` is who hears what goes wrong."""
        self._keeper = keeper
        self._user = user
        self._attending = attending
        self.agent = agent
        self.order = order
        #: Why it is over, once it is.
        self.why = ""
        #: Why the last keys were not taken; empty if they were.
        self.refused = ""
        #: Nobody ended it, but what carries it broke: it can be joined again.
        self.broke = False
        #: Why they left, if nobody else ended it.
        self.left = LOST

    async def output(self, first: bytes) -> AsyncIterator[bytes]:
        """What is shown, until it is over."""
        data = first
        while data:
            yield data
            try:
                data = (await self._read()).data
            except UnavailableError:
                self.why, self.broke = "its keeper went away; the agent goes on, and can be joined again", True
                return
            except CorralError as error:
                self.why = as_told_to(error, self._user).message
                return
        await asyncio.wait({self._attending})
        # What was wrong with what came in says more than that somebody left.
        self.why = self.why or _why(self._attending)

    async def type(self, data: bytes) -> None:
        """Keys; `refused` says afterwards why they were not taken, if so."""
        taken = await self._keeper.session_type(self.agent.team, self.agent.run, self.order.id, data)
        self.refused = taken.refused

    async def resize(self, columns: int, rows: int) -> None:
        """The terminal has another size."""
        seat = self.order.id
        await self._keeper.session_resize(self.agent.team, self.agent.run, seat, columns=columns, rows=rows)

    async def leave(self, why: str = "") -> None:
        """Leave, and say why if that is known; a keeper that cannot be told has lost the seat with the connection."""
        self.left = why or self.left
        try:
            await self._keeper.session_leave(self.agent.team, self.agent.run, self.order.id)
        except CorralError:
            self._attending.cancel()

    async def _read(self) -> SessionOutput:
        return await self._keeper.session_read(self.agent.team, self.agent.run, self.order.id)


class Sessions:
    """The use cases."""

    def __init__(
        self, context: Context, ledger: Ledger, tell: Callable[[Notice], None], owns: Callable[[Who, Agent], bool]
    ) -> None:
        """`owns` says whether it is somebody's own agent; the owner is told of everybody else."""
        self._ledger = ledger
        self._store = context.store
        self._owns = owns
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._tell = tell
        self._background = Background()

    async def begin(self) -> None:
        """Journal that those left who were there when an earlier daemon ended without a word."""
        for item in await self._store.items(_KIND):
            seated = msgspec.json.decode(item.value, type=_Seated)
            data: dict[str, object] = {"seat": item.key, "mode": seated.mode, "why": DAEMON_GONE}
            event = NewEvent(event="session.left", team=seated.team, agent=seated.agent, data=data)
            gone = ((_KIND, item.key),)
            await self._ledger.write(Change(who=seated.who, time=self._now(), events=(event,), drop_items=gone))

    async def join(self, who: Who, peer: Peer, agent: Agent, joining: Joining) -> tuple[Joined, bytes]:
        """Give somebody a seat: it, and the first that is shown there. Who joined and who left is journalled."""
        if joining.mode not in MODES:
            raise WrongUseError(f"mode={joining.mode}: there is no such way to join", f"one of {', '.join(MODES)}")
        if joining.mode != OBSERVE:
            remedy = f"corral attach --observe {agent.name} only watches, corral send {agent.name} … speaks to it"
            await must_be_a_person(self._supervisor, who, peer, what=f"the keyboard of {agent.name}", remedy=remedy)
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        order = SeatOrder(
            id=secrets.token_hex(4),
            name=who.agent or who.user,
            mode=joining.mode,
            columns=joining.columns,
            rows=joining.rows,
            term=joining.term,
        )
        attending = asyncio.ensure_future(keeper.session_attend(agent.team, agent.run, order))
        first = asyncio.ensure_future(keeper.session_read(agent.team, agent.run, order.id))
        try:
            with without_terminal_told(agent):
                await asyncio.wait({attending, first}, return_when=asyncio.FIRST_COMPLETED)
                if attending.done():
                    why = foreign_words(attending.result().why)
                    raise UnavailableError(f"{agent.name} cannot be joined: {why}", "try again")
            shown = (await first).data
            joined_at = self._now()
            await self._ledger.write(_joined(who, agent, order, joined_at))
        except BaseException:
            # Nobody will ever leave the seat: who wanted it has gone, or hears of an error.
            first.cancel()
            self._background.spawn(_give_up(keeper, agent, order.id), name="give up a seat")
            raise
        if not self._owns(who, agent):
            self._tell(session_words.joined(agent, order.name, order.mode, joined_at))
            self._registry.set_notice(agent.key, _subject(order), session_words.is_there(order.name, order.mode))
        joined = Joined(keeper, agent, order, attending, who.user)
        self._background.spawn(self._note_end(who, joined, attending, joined_at), name="note who leaves")
        return joined, shown

    async def listed(self, teams: Sequence[str], agent: str, *, named: bool) -> Asked[Sequence[SharedSession]]:
        """The terminals that people share, of these teams, or of an agent in the only one. `named`: see `ask_each`."""
        return await ask_each(self._supervisor.keepers, teams, lambda team: self._of(team, agent), named=named)

    async def _of(self, team: str, agent: str) -> Sequence[SharedSession]:
        keeper = await keeper_soon(self._supervisor, team)
        found = await keeper.sessions(team)
        # A keeper is believed about the team that it was asked about, and about no other.
        own = self._registry.of_team(team)
        if not all(can_be(seat.since) for one in found for seat in one.seats):
            users = " and ".join(self._supervisor.keepers.users(team))
            raise UnavailableError(
                f"the keeper of {users} tells of people at terminals of {team} since a time there is not",
                "is it another program? systemctl --user status corral-keeper.service, by that user, may tell",
            )
        return [one for one in found if one.team == team and one.agent in own and agent in ("", one.agent)]

    async def steer(self, who: Who, peer: Peer, agent: Agent, action: str, person: str) -> SharedSession:
        """Do what a moderator wants; it is journalled."""
        if action not in ACTIONS:
            raise WrongUseError(f"{action} is nothing that a moderator does", f"one of {', '.join(ACTIONS)}")
        remedy = "ask a person who may to do it"
        await must_be_a_person(self._supervisor, who, peer, what=f"the session of {agent.name}", remedy=remedy)
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        session = await keeper.session_steer(agent.team, agent.run, action=action, person=person, by=who.user)
        data: dict[str, object] = {"person": person} if person or action != END else {}
        await self._journal(who, agent, f"session.{_EVENTS[action]}", data)
        return session

    async def _note_end(self, who: Who, joined: Joined, attending: asyncio.Task[SessionOver], joined_at: float) -> None:
        await asyncio.wait({attending})
        agent, order, now = joined.agent, joined.order, self._now()
        why = _why(attending)
        if why == LEFT:
            why = joined.left
        data: dict[str, object] = {"seat": order.id, "mode": order.mode, "why": why}
        data["seconds"] = round(now - joined_at, 1)
        event = NewEvent(event="session.left", team=agent.team, agent=agent.name, data=data)
        try:
            await self._ledger.write(Change(who=who, time=now, events=(event,), drop_items=((_KIND, order.id),)))
        except CorralError as error:
            log.error("that %s left %s is for the next daemon to journal: %s", order.name, agent.name, error.message)
        self._registry.set_notice(agent.key, _subject(order), "")
        if not self._owns(who, agent):
            self._tell(session_words.left(agent, order.name, order.mode, why, now))

    async def _journal(self, who: Who, agent: Agent, event: str, data: dict[str, object]) -> None:
        await self._registry.observe((), [NewEvent(event=event, team=agent.team, agent=agent.name, data=data)], who)


def _joined(who: Who, agent: Agent, order: SeatOrder, at: float) -> Change:
    data: dict[str, object] = {"seat": order.id, "mode": order.mode}
    seated = _Seated(who=who, team=agent.team, agent=agent.name, mode=order.mode)
    return Change(
        who=who,
        time=at,
        events=(NewEvent(event="session.joined", team=agent.team, agent=agent.name, data=data),),
        put_items=(Item(_KIND, order.id, msgspec.json.encode(seated)),),
    )


def _subject(order: SeatOrder) -> str:
    return f"seat {order.id}"


def _why(attending: asyncio.Task[SessionOver]) -> str:
    if attending.cancelled():
        return LEFT
    error = attending.exception()
    if isinstance(error, CorralError):
        return foreign_words(error.message)
    return foreign_words(attending.result().why) if error is None else repr(error)


async def _give_up(keeper: Keeper, agent: Agent, seat: str) -> None:
    """Leave a seat, if it is there; a keeper that cannot be told has lost it with the connection."""
    with contextlib.suppress(CorralError):
        await keeper.session_leave(agent.team, agent.run, seat)
