"""Sharing an agent's terminal: joining, who is there, and what a moderator does.

The daemon carries what is shown and what is typed. Whether it is taken is the keeper's to say, by the mode of the seat;
who may have which mode is decided before anybody gets here.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from corral.background import Background
from corral.domain import session_words
from corral.domain.errors import CorralError, UnavailableError, WrongUseError
from corral.domain.notices import Notice
from corral.domain.records import Agent, NewEvent, Who
from corral.domain.session_modes import ACTIONS, END, MODES, OBSERVE
from corral.ports.dialogs import Peer
from corral.ports.keeper import Keeper
from corral.ports.sessions import SeatOrder, SessionOutput, SessionOver, SharedSession
from corral.service.context import Context
from corral.service.people import must_be_a_person
from corral.service.reaching import keeper_soon
from corral.service.running import without_terminal_told

#: The events of what a moderator does.
_EVENTS = {"mute": "muted", "unmute": "unmuted", "handover": "handed_over", "release": "released", "end": "ended"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """How somebody wants to join."""

    mode: str
    columns: int
    rows: int
    term: str = ""


class Joined:
    """A seat, for as long as its owner has a connection."""

    def __init__(self, keeper: Keeper, agent: Agent, order: SeatOrder, attending: asyncio.Task[SessionOver]) -> None:
        self._keeper = keeper
        self._attending = attending
        self.agent = agent
        self.order = order
        #: Why it is over, once it is.
        self.why = ""
        #: Why the last keys were not taken; empty if they were.
        self.refused = ""

    async def output(self, first: bytes) -> AsyncIterator[bytes]:
        """What is shown, until it is over."""
        data = first
        while data:
            yield data
            try:
                data = (await self._read()).data
            except CorralError as error:
                self.why = error.message
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

    async def leave(self) -> None:
        """Leave; a keeper that cannot be told has lost the seat with the connection."""
        try:
            await self._keeper.session_leave(self.agent.team, self.agent.run, self.order.id)
        except CorralError:
            self._attending.cancel()

    async def _read(self) -> SessionOutput:
        return await self._keeper.session_read(self.agent.team, self.agent.run, self.order.id)


class Sessions:
    """The use cases."""

    def __init__(self, context: Context, tell: Callable[[Notice], None]) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._tell = tell
        self._background = Background()

    async def join(self, who: Who, peer: Peer, agent: Agent, joining: Joining) -> tuple[Joined, bytes]:
        """Give somebody a seat: it, and the first that is shown there. Who joined and who left is journalled."""
        if joining.mode not in MODES:
            raise WrongUseError(f"mode={joining.mode}: there is no such way to join", f"one of {', '.join(MODES)}")
        if joining.mode != OBSERVE:
            remedy = f"corral attach --observe {agent.name} only watches, corral send {agent.name} … speaks to it"
            await must_be_a_person(self._supervisor, who, peer, what=f"the keyboard of {agent.name}", remedy=remedy)
        keeper = await keeper_soon(self._supervisor, agent.team)
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
                    raise UnavailableError(f"{agent.name} cannot be joined: {attending.result().why}", "try again")
            shown = (await first).data
            joined_at = self._now()
            data: dict[str, object] = {"seat": order.id, "mode": order.mode}
            await self._journal(who, agent, "session.joined", data)
        except BaseException:
            # Nobody will ever leave the seat: who wanted it has gone, or hears of an error.
            first.cancel()
            self._background.spawn(_give_up(keeper, agent, order.id), name="give up a seat")
            raise
        if who.user != agent.user:
            self._tell(session_words.joined(agent, order.name, order.mode, joined_at))
        self._background.spawn(self._note_end(who, agent, order, attending, joined_at), name="note who leaves")
        return Joined(keeper, agent, order, attending), shown

    async def listed(self, team: str, agent: str) -> list[SharedSession]:
        """The terminals that people share: of an agent, of a team, or all."""
        teams = [team] if team else sorted(self._registry.teams)
        found = []
        for name in teams:
            keeper = await keeper_soon(self._supervisor, name)
            # A keeper is believed about the team that it was asked about, and about no other.
            own = self._registry.of_team(name)
            found += [one for one in await keeper.sessions(name) if one.team == name and one.agent in own]
        return [session for session in found if not agent or session.agent == agent]

    async def steer(self, who: Who, peer: Peer, agent: Agent, action: str, person: str) -> SharedSession:
        """Do what a moderator wants; it is journalled."""
        if action not in ACTIONS:
            raise WrongUseError(f"{action} is nothing that a moderator does", f"one of {', '.join(ACTIONS)}")
        remedy = "ask a person who may to do it"
        await must_be_a_person(self._supervisor, who, peer, what=f"the session of {agent.name}", remedy=remedy)
        keeper = await keeper_soon(self._supervisor, agent.team)
        session = await keeper.session_steer(agent.team, agent.run, action=action, person=person, by=who.user)
        data: dict[str, object] = {"person": person} if person or action != END else {}
        await self._journal(who, agent, f"session.{_EVENTS[action]}", data)
        return session

    async def _note_end(
        self, who: Who, agent: Agent, order: SeatOrder, attending: asyncio.Task[SessionOver], joined_at: float
    ) -> None:
        await asyncio.wait({attending})
        why = _why(attending)
        seconds = round(self._now() - joined_at, 1)
        data: dict[str, object] = {"seat": order.id, "mode": order.mode, "why": why, "seconds": seconds}
        await self._journal(who, agent, "session.left", data)
        if who.user != agent.user:
            self._tell(session_words.left(agent, order.name, order.mode, why, self._now()))

    async def _journal(self, who: Who, agent: Agent, event: str, data: dict[str, object]) -> None:
        await self._registry.observe((), [NewEvent(event=event, team=agent.team, agent=agent.name, data=data)], who)


def _why(attending: asyncio.Task[SessionOver]) -> str:
    if attending.cancelled():
        return "left"
    error = attending.exception()
    if error is None:
        return attending.result().why
    return error.message if isinstance(error, CorralError) else repr(error)


async def _give_up(keeper: Keeper, agent: Agent, seat: str) -> None:
    """Leave a seat, if it is there; a keeper that cannot be told has lost it with the connection."""
    with contextlib.suppress(CorralError):
        await keeper.session_leave(agent.team, agent.run, seat)
