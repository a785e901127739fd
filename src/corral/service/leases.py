"""The use cases around leases: granted in order, durable before they are told, and gone with whoever held them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import msgspec

from corral.background import Background
from corral.domain import states
from corral.domain.errors import CorralError, RefusedError
from corral.domain.leases import Claim, Lease, Leases, Party
from corral.domain.lost_leases import Lost
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Who
from corral.domain.timestamps import timestamp
from corral.domain.waits import Waits
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.lease_records import StoredLease, lease_of, stored_lease
from corral.service.ledger import Ledger
from corral.service.lost_leases import LostBook, Noted

log = logging.getLogger("corral.daemon")

_KIND = "lease"
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Held:
    """A lease, with the unix time at which it goes without a sign of life."""

    lease: Lease
    expires_at: float


@dataclass(slots=True)
class _Waiting:
    who: Who
    granted: asyncio.Future[Lease]
    #: Of the wait in `Waits`.
    ticket: int


@dataclass(slots=True)
class _Watching:
    """Somebody who wants to know when a claim could be granted, and does not want it."""

    claim: Claim
    free: asyncio.Future[None]


class LeaseService:
    """The use cases. One clock, that of the event loop, which nobody can set."""

    def __init__(self, context: Context, ledger: Ledger, waits: Waits) -> None:
        self._store = context.store
        self._registry = context.registry
        self._now = context.now
        self._ledger = ledger
        self._waits = waits
        self._leases = Leases()
        self._lost = LostBook()
        self._waiting: dict[int, _Waiting] = {}
        #: By their tickets in `Waits`.
        self._watching: dict[int, _Watching] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._background = Background()
        ledger.keep(self._read)
        context.registry.watch_agents(self._agents_changed)

    async def _read(self) -> Callable[[], None]:
        found = [_lease(item) for item in await self._store.items(_KIND)]
        lost_before = await LostBook.read(self._store)

        def put() -> None:
            self._leases = Leases.restored(found, self._clock())
            self._lost.leases = lost_before
            lost = RefusedError("the line is lost: what stood before it could not be written", "ask again")
            for waiting in self._waiting.values():
                if not waiting.granted.done():
                    waiting.granted.set_exception(lost)
            self._tell_watching()
            # Whose agents came and went while nobody looked.
            self._agents_changed({_key(lease.claim.party) for lease in found if lease.claim.party.run})
            self._wind()

        return put

    # Asking

    async def acquire(self, who: Who, claim: Claim, wait: float) -> Held:
        """Hold all that is claimed, or nothing: at once, or when it is free within so many seconds.

        `RefusedError` names who holds what, or the cycle that a wait would close.
        """
        if self._leases.is_free(claim):
            lease = await self._grant(who, claim)
        elif wait > 0:
            lease = await self._in_line(who, claim, wait)
        else:
            raise self._refusal(claim)
        return self._held(lease)

    async def _grant(self, who: Who, claim: Claim) -> Lease:
        lease = self._leases.grant(claim, self._ledger.next_revision(), self._now(), self._clock())
        self._wind()
        noted = self._lost.grant(lease)
        await self._ledger.write(self._change(who, "lease.granted", put=[lease], about=[lease], noted=noted))
        return lease

    async def _in_line(self, who: Who, claim: Claim, wait: float) -> Lease:
        number = self._leases.wait(claim)
        try:
            ticket = self._waits.begin(claim.party.name, self._leases.waited_for(number), _what(claim))
        except RefusedError:
            self._leases.leave(number)
            raise
        granted: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        self._waiting[number] = _Waiting(who, granted, ticket)
        try:
            async with asyncio.timeout(wait):
                return await granted
        except TimeoutError:
            raise self._refusal(claim) from None
        finally:
            self._leave(number)

    def _leave(self, number: int) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            self._leases.leave(number)
            self._waits.end(waiting.ticket)
            self._settle()

    def _settle(self) -> None:
        """Give what is free to those who wait, in their order; who waits for others now is noted."""
        for number, claim in self._leases.next_in_line():
            waiting = self._waiting.pop(number)
            self._waits.end(waiting.ticket)
            lease = self._leases.grant(claim, self._ledger.next_revision(), self._now(), self._clock())
            noted = self._lost.grant(lease)
            change = self._change(waiting.who, "lease.granted", put=[lease], about=[lease], noted=noted)
            written = self._ledger.submit(change)
            self._background.spawn(self._hand_over(lease, waiting, written), name="hand a lease over")
        for number, waiting in list(self._waiting.items()):
            try:
                self._waits.change(waiting.ticket, self._leases.waited_for(number))
            except RefusedError as error:
                if not waiting.granted.done():
                    waiting.granted.set_exception(error)
        self._tell_watching()
        self._wind()

    def _tell_watching(self) -> None:
        """Tell those of it whose files are free now; whom the others wait for is noted."""
        for ticket, watching in self._watching.items():
            if watching.free.done():
                continue
            if self._leases.is_free(watching.claim):
                watching.free.set_result(None)
                continue
            try:
                self._waits.change(ticket, self._leases.ahead_of(watching.claim))
            except RefusedError as error:
                watching.free.set_exception(error)

    async def _hand_over(self, lease: Lease, waiting: _Waiting, written: asyncio.Future[None]) -> None:
        try:
            await asyncio.shield(written)
        except CorralError as error:
            if not waiting.granted.done():
                waiting.granted.set_exception(error)
            return
        if waiting.granted.done():  # whoever waited has gone, and wants it no more
            await self._drop([lease], SUPERVISOR, "lease.released")
        else:
            waiting.granted.set_result(lease)

    async def until_free(self, claim: Claim, wait: float) -> None:
        """Return when a claim could be granted; `RefusedError` as for `acquire` if it is not so within the time.

        Nothing is written, and nobody waits behind somebody who only looks.
        """
        if self._leases.is_free(claim):
            return
        ticket = self._waits.begin(claim.party.name, self._leases.ahead_of(claim), _what(claim))
        watching = self._watching[ticket] = _Watching(claim, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(wait):
                await watching.free
        except TimeoutError:
            raise self._refusal(claim) from None
        finally:
            del self._watching[ticket]
            self._waits.end(ticket)

    # Keeping

    def check(self, claim: Claim) -> None:
        """Raise `RefusedError` if somebody else holds what would be in the way of this."""
        if self._leases.conflict(claim) is not None:
            raise self._refusal(claim)

    def held(self) -> list[Held]:
        """All leases, the oldest first."""
        return [self._held(lease) for lease in self._leases.held.values()]

    def leases(self) -> list[Lease]:
        """All leases and locks of everybody, the oldest first."""
        return list(self._leases.held.values())

    def of_realm(self, realm: str) -> list[Lease]:
        """The leases of a realm, the oldest first."""
        return [lease for lease in self._leases.held.values() if lease.claim.realm == realm]

    def lost_by(self, party: str, run: str, realm: str) -> list[Lost]:
        """What a session lost to somebody else, in a realm."""
        return [lost for lost in self._lost.leases.of(party, run) if lost.lease.claim.realm == realm]

    def until(self, lease: Lease) -> float:
        """The unix time at which a lease goes without a sign of life."""
        return self._held(lease).expires_at

    async def renew(self, lease: str, party: str, token: int | None) -> Held:
        """A sign of life of whoever holds it. `RefusedError` for a token that is not that of the lease."""
        self._check_token(lease, token)
        found = self._leases.renew(lease, party, self._clock())
        self._wind()
        return self._held(found)

    def renew_all(self, realm: str, party: Party) -> None:
        """A sign of life of whoever holds files: for all of theirs but what an earlier run of the agent left behind."""
        now = self._clock()
        for lease in self._leases.held.values():
            claim = lease.claim
            if claim.party.name == party.name and claim.realm == realm and claim.party.run in ("", party.run):
                self._leases.renew(lease.lease, party.name, now)
        self._wind()

    async def release(self, who: Who, lease: str, party: str, token: int | None) -> Held:
        """Give it back. It is free when this returns."""
        self._check_token(lease, token)
        held = self._held(self._leases.get(lease))
        found = self._leases.release(lease, party)
        # Whoever speaks for the agent without being it, and without the token, takes it away from under it.
        is_taken = who.agent != party and token is None
        noted = self._lost.lose([found] if is_taken else [], self._now())
        written = self._ledger.submit(self._change(who, "lease.released", drop=[found], about=[found], noted=noted))
        self._settle()
        await asyncio.shield(written)
        return held

    async def release_all(self, who: Who, leases: Sequence[Lease]) -> None:
        """Give these back for those who hold them. What the store does not take stays theirs, which is logged."""
        try:
            await self._drop(leases, who, "lease.released")
        except CorralError as error:
            log.error("%d leases are not given back: %s", len(leases), error.message)

    def _check_token(self, lease: str, token: int | None) -> None:
        found = self._leases.get(lease)
        if token is not None and token != found.token:
            raise RefusedError(f"{lease} has another token than {token}", "it is the one that acquire answered with")

    # What happens by itself

    def _agents_changed(self, keys: Collection[tuple[str, str]]) -> None:
        alive: dict[str, str] = {}
        ended: list[str] = []
        for key in keys:
            agent, name = self._registry.agents.get(key), "/".join(key)
            if agent is None or agent.state == states.STOPPED:
                ended.append(name)
            else:
                alive[name] = _run_of(agent)
        gone, changed = self._leases.observe(alive, ended, self._clock())
        noted = self._lost.forget(ended)
        if gone or noted.drop:
            self._submit(self._change(SUPERVISOR, "lease.released", drop=gone, about=gone, noted=noted))
        if changed:
            suspects = [lease for lease in changed if lease.suspect]
            self._submit(self._change(SUPERVISOR, "lease.suspect", put=changed, about=suspects))
        if gone or changed:
            self._settle()

    def _expire(self) -> None:
        self._timer = None
        gone = self._leases.expire(self._clock())
        if gone:
            noted = self._lost.lose(gone, self._now())
            self._submit(self._change(SUPERVISOR, "lease.expired", drop=gone, about=gone, noted=noted))
            self._settle()
        self._wind()

    def _wind(self) -> None:
        """Have a look at the next deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._leases.next_deadline()
        if deadline is not None:
            self._timer = asyncio.get_running_loop().call_at(deadline, self._expire)

    async def _drop(self, leases: Sequence[Lease], who: Who, event: str) -> None:
        there = [lease for lease in leases if lease.lease in self._leases.held]
        for lease in there:
            self._leases.release(lease.lease, lease.claim.party.name)
        if there:
            written = self._ledger.submit(self._change(who, event, drop=there, about=there))
            self._settle()
            await asyncio.shield(written)

    def _submit(self, change: Change) -> None:
        """Write down what happened by itself. If that fails, the state is read again, and it happens again."""
        written = self._ledger.submit(change)
        written.add_done_callback(lambda done: done.exception())

    # Telling

    def _held(self, lease: Lease) -> Held:
        return Held(lease, self._now() + self._leases.expires_in(lease, self._clock()))

    def _refusal(self, claim: Claim) -> RefusedError:
        found = self._leases.conflict(claim)
        if found is None:
            return RefusedError(f"others wait for {_what(claim)}", "ask with --wait to stand in line")
        lease, pattern = found
        held = self._held(lease)
        holder = lease.claim.party.name
        return RefusedError(
            f"{holder} holds {pattern.text} ({lease.claim.mode}) since {timestamp(lease.since)}, "
            f"until {timestamp(held.expires_at)} or longer",
            "wait for it (--wait), work on something else, or ask its holder to release it",
            holder=holder,
            pattern=pattern.text,
            lease=lease.lease,
            since=timestamp(lease.since),
            expires_at=timestamp(held.expires_at),
        )

    def _change(
        self,
        who: Who,
        event: str,
        *,
        put: Sequence[Lease] = (),
        drop: Sequence[Lease] = (),
        about: Sequence[Lease],
        noted: Noted | None = None,
    ) -> Change:
        put_lost, drop_lost = (noted.put, noted.drop) if noted is not None else ((), ())
        return Change(
            who=who,
            time=self._now(),
            put_items=[*(Item(_KIND, lease.lease, _encode(stored_lease(lease))) for lease in put), *put_lost],
            drop_items=[*((_KIND, lease.lease) for lease in drop), *drop_lost],
            events=[_event(event, lease) for lease in about],
        )

    @staticmethod
    def _clock() -> float:
        return asyncio.get_running_loop().time()


def _run_of(agent: Agent) -> str:
    """The run that an agent may be alive in; empty if its last one is over. Of an unknown one nothing is taken away."""
    return agent.run if agent.state in states.LIVE else ""


def _key(party: Party) -> tuple[str, str]:
    team, _, agent = party.name.partition("/")
    return team, agent


def _what(claim: Claim) -> str:
    return "the lease on " + ", ".join(pattern.text for pattern in claim.patterns)


def _event(event: str, lease: Lease) -> NewEvent:
    claim = lease.claim
    team, slash, agent = claim.party.name.partition("/")
    data: dict[str, object] = {
        "lease": lease.lease,
        "token": lease.token,
        "patterns": [pattern.text for pattern in claim.patterns],
        "mode": claim.mode,
        "realm": claim.realm,
        **({} if slash else {"holder": claim.party.name}),
    }
    return NewEvent(event=event, team=team if slash else "", agent=agent, data=data)


def _lease(item: Item) -> Lease:
    return lease_of(item.key, msgspec.msgpack.decode(item.value, type=StoredLease))
