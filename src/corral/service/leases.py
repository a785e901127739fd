"""The use cases around leases: granted in order, durable before they are told, and gone with whoever held them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from corral.background import Background
from corral.domain import states
from corral.domain.errors import CorralError, RefusedError
from corral.domain.lease_comparing import Comparing
from corral.domain.lease_model import Claim, Lease, Obstacle, Party
from corral.domain.lease_refusals import does_not_run, refusal, what, with_holder, within_itself
from corral.domain.leases import Leases
from corral.domain.lost_leases import Lost
from corral.domain.records import SUPERVISOR, Agent, Who
from corral.domain.traces import shown
from corral.domain.waits import Waits
from corral.ports.store import Change
from corral.service.context import Context
from corral.service.lease_changes import LeaseChanges, read_leases
from corral.service.lease_comparisons import AT_ONCE, Comparisons
from corral.service.lease_waits import LeaseWaits
from corral.service.lease_watchers import LeaseWatchers
from corral.service.ledger import Ledger
from corral.service.lost_leases import LostBook

log = logging.getLogger("corral.daemon")

#: How soon to try again what happens by itself and could not be written.
_AGAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Held:
    """A lease, with the unix time at which it goes without a sign of life."""

    lease: Lease
    expires_at: float


@dataclass(slots=True)
class _Waiting:
    who: Who
    claim: Claim
    granted: asyncio.Future[Lease]
    #: Of the wait in `LeaseWaits`.
    tickets: list[int]


@dataclass(slots=True)
class _Handing:
    """Somebody who waited, and what they are granted."""

    waiting: _Waiting
    lease: Lease


class LeaseService:
    """The use cases. One clock, that of the event loop, which nobody can set."""

    def __init__(self, context: Context, ledger: Ledger, waits: Waits) -> None:
        self._store = context.store
        self._registry = context.registry
        self._now = context.now
        self._change = LeaseChanges(context.now)
        self._ledger = ledger
        self._waits = waits
        self._line_waits = LeaseWaits(waits)
        self._leases = Leases()
        self._lost = LostBook()
        #: By their numbers in the line: those who wait, and those whose grant is being written.
        self._waiting: dict[int, _Waiting] = {}
        self._handing: dict[int, _Handing] = {}
        self._comparisons = Comparisons(lambda: self._leases)
        self._watchers = LeaseWatchers(waits, self._compared, lambda: self._leases, self._cycle_of)
        self._timer: asyncio.TimerHandle | None = None
        #: Until then nothing is decided that happens by itself.
        self._again: asyncio.TimerHandle | None = None
        self._is_read = False
        self._background = Background()
        ledger.keep(self._read)
        context.registry.watch_agents(self._agents_changed)

    async def _read(self) -> Callable[[], None]:
        found = await read_leases(self._store)
        lost_before = await LostBook.read(self._store)

        def put() -> None:
            self._line_up(found)
            self._lost.leases = lost_before
            self._watchers.tell()
            if self._is_read:
                # Something could not be written. What follows from that by itself could not be either: tried at once,
                # again and again, it would be all that the daemon does.
                self._look_again()
            else:
                self._look()
            self._is_read = True

        return put

    def _line_up(self, held: Sequence[Lease]) -> None:
        """What is held is so again; who waits stands where they stood, also one whose grant could not be written."""
        written = {lease.lease for lease in held}
        handing = self._handing
        self._handing = {number: one for number, one in handing.items() if one.lease.lease in written}
        gone = {number: one.waiting for number, one in handing.items() if number not in self._handing}
        back = {number: waiting for number, waiting in gone.items() if not waiting.granted.done()}
        self._waiting = dict(sorted({**self._waiting, **back}.items()))
        self._leases = self._leases.again(held, self._clock(), back)
        for number, waiting in back.items():
            try:
                waiting.tickets = self._line_waits.begin(self._leases, number, waiting.claim)
            except RefusedError as error:
                self._send_away(number, self._cycle(error, number))

    def _look_again(self) -> None:
        if self._again is not None:
            self._again.cancel()
        self._again = asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._look)
        self._wind()

    def _look(self) -> None:
        """Take in whose agents came and went while nobody looked, and what became free."""
        self._again = None
        held = [lease.claim.party for lease in self._leases.held.values()]
        waiting = [one.claim.party for one in self._waiting.values()]
        self._agents_changed({_key(party) for party in (*held, *waiting) if party.run})
        self._settle()

    # Asking

    async def acquire(self, who: Who, claim: Claim, wait: float) -> Held:
        """Hold all that is claimed, or nothing: at once, or when it is free within so many seconds.

        `RefusedError` names who holds what, or the cycle that a wait would close. An agent that does not run gets none.
        """
        self._check(claim)
        compared = await self._compared(claim, first_only=wait <= 0)
        self._check(claim)  # others may have had their turn meanwhile
        if self._leases.is_free(claim, compared):
            lease = await self._grant(who, compared)
        elif wait > 0:
            lease = await self._in_line(who, compared, wait)
        else:
            raise self._refusal(claim, self._first(compared))
        return self._held(lease)

    def _check(self, claim: Claim) -> None:
        self._check_it_runs(claim.party)
        self._check_nesting(claim)
        self._leases.check_room(claim)

    async def _compared(self, claim: Claim, *, first_only: bool = False) -> Comparing:
        """What is in the way of a claim, or the first of it; others have their turn meanwhile if it is much."""
        return await self._comparisons.of(
            lambda: self._leases.comparing(claim, lost=self._lost.leases.index, first_only=first_only)
        )

    def _check_it_runs(self, party: Party) -> None:
        agent = self._registry.agents.get(_key(party)) if party.run else None
        if party.run and (agent is None or _run_of(agent) != party.run):
            raise does_not_run(party.name, agent.state if agent is not None else "it is gone")

    def _check_nesting(self, claim: Claim) -> None:
        """Refuse a lock that whoever asks has, be it to be waited for or not."""
        if not claim.lock:
            return
        around = self._leases.own_locks_around(claim)
        for name in self._leases.own_locks_ahead(claim):
            lease = self._leases.held[name]
            # One that belongs to an agent's run is held by the agent itself, and by no command of it.
            if name in around or (claim.party.run and claim.party.run == lease.claim.party.run):
                raise within_itself(lease, self.until(lease))

    async def _grant(self, who: Who, compared: Comparing) -> Lease:
        lease = self._leases.grant(compared.claim, self._ledger.next_revision(), self._now(), self._clock())
        self._wind()
        self._watchers.tell()
        noted = self._lost.grant(lease, _names(compared.in_the_way))
        await self._ledger.write(self._change(who, "lease.granted", put=[lease], about=[lease], noted=noted))
        return lease

    async def _in_line(self, who: Who, compared: Comparing, wait: float) -> Lease:
        claim = compared.claim
        number = self._leases.wait(claim, compared)
        try:
            tickets = self._line_waits.begin(self._leases, number, claim)
        except RefusedError as error:
            told = self._cycle(error, number)
            self._leases.leave(number)
            raise told from None
        granted: asyncio.Future[Lease] = asyncio.get_running_loop().create_future()
        self._waiting[number] = _Waiting(who, claim, granted, tickets)
        self._watchers.tell()
        try:
            async with asyncio.timeout(wait):
                return await granted
        except TimeoutError:
            raise self._refusal(claim, next(self._leases.obstacles_of(number), None), waited=True) from None
        finally:
            self._leave(number)

    def _leave(self, number: int) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            self._leases.leave(number)
            self._line_waits.end(waiting.tickets)
            self._settle()

    def _send_away(self, number: int, error: RefusedError) -> None:
        """Tell somebody in line that it is no use. They stand there no more, and what that changes is not settled."""
        waiting = self._waiting.pop(number)
        self._leases.leave(number)
        self._line_waits.end(waiting.tickets)
        if not waiting.granted.done():
            waiting.granted.set_exception(error)

    def _settle(self) -> None:
        """Give what is free to those who wait, in their order; who waits for others now is noted."""
        for number, claim, met in self._leases.next_in_line():
            waiting = self._waiting.pop(number)
            self._line_waits.end(waiting.tickets)
            lease = self._leases.grant(claim, self._ledger.next_revision(), self._now(), self._clock())
            handing = self._handing[number] = _Handing(waiting, lease)
            noted = self._lost.grant(lease, met)
            change = self._change(waiting.who, "lease.granted", put=[lease], about=[lease], noted=noted)
            written = self._ledger.submit(change)
            self._background.spawn(self._hand_over(number, handing, written), name="hand a lease over")
        for number in self._leases.changed_waits():
            waiting = self._waiting[number]
            try:
                self._line_waits.change(waiting.tickets, self._leases, number, waiting.claim)
            except RefusedError as error:
                if not waiting.granted.done():
                    waiting.granted.set_exception(self._cycle(error, number))
        self._watchers.tell()
        self._wind()

    async def _hand_over(self, number: int, handing: _Handing, written: asyncio.Future[None]) -> None:
        granted, lease = handing.waiting.granted, handing.lease
        try:
            await asyncio.shield(written)
        except CorralError as error:
            # If all was read again, it is back in line, and goes on waiting; or is granted it once more by now.
            if self._handing.get(number) is handing:
                del self._handing[number]
                if not granted.done():
                    granted.set_exception(error)
            return
        self._handing.pop(number, None)
        self._leases.sure(number, lease.lease)
        if granted.done():  # whoever waited has gone, and wants it no more
            await self._drop([lease], SUPERVISOR, "lease.released")
        else:
            granted.set_result(lease)

    async def until_free(self, claim: Claim, wait: float) -> None:
        """Return when a claim could be granted; `RefusedError` as for `acquire` if it is not so within the time.

        Nothing is written, and nobody waits behind somebody who only looks.
        """
        compared = await self._compared(claim)
        if self._leases.is_free(claim, compared):
            return
        try:
            watching = self._watchers.begin(compared)
        except RefusedError as error:
            raise self._cycle_of(error, compared) from None
        try:
            async with asyncio.timeout(wait):
                await watching.free
        except TimeoutError:
            compared = await self._compared(claim, first_only=True)
            raise self._refusal(claim, self._first(compared), waited=True) from None
        finally:
            self._watchers.end(watching)

    # Keeping

    async def check(self, claim: Claim) -> None:
        """Raise `RefusedError` if somebody else holds what would be in the way of this, however much it is."""
        spent, turn = 0, AT_ONCE
        for pattern in claim.patterns:
            # One by one, so that it can be said of which of them somebody has something.
            one = replace(claim, patterns=(pattern,))
            compared = await self._compared_with_held(one, spent)
            obstacle = self._first(compared)
            if obstacle is not None:
                asked = f"{shown(pattern.text)}: " if len(claim.patterns) > 1 else ""
                raise self._refusal(one, obstacle, asked=asked)
            spent = compared.compared + 1
            if spent >= turn:
                turn = spent + AT_ONCE
                await asyncio.sleep(0)

    async def _compared_with_held(self, claim: Claim, spent: int) -> Comparing:
        return await self._comparisons.of(lambda: self._leases.comparing_with_held(claim, spent))

    def held(self) -> list[Held]:
        """All leases, the oldest first."""
        return [self._held(lease) for lease in self._leases.held.values()]

    def get(self, lease: str) -> Lease:
        """The lease of that name, or `NotFoundError`. No other one will ever have it."""
        return self._leases.get(lease)

    def of_party(self, party: str) -> list[Lease]:
        """All leases and locks of an agent or a person, the oldest first."""
        return self._leases.of_party(party)

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
        """A sign of life of whoever holds it. `RefusedError` for others, and for a token that is not the lease's."""
        self._check_own(lease, party, token)
        found = self._leases.renew(lease, party, self._clock())
        self._wind()
        return self._held(found)

    def renew_all(self, realm: str, party: Party) -> None:
        """A sign of life of whoever holds files: for all of theirs but what an earlier run of the agent left behind."""
        now = self._clock()
        for lease in self._leases.of_party(party.name):
            claim = lease.claim
            if claim.realm == realm and claim.party.run in ("", party.run):
                self._leases.renew(lease.lease, party.name, now)
        self._wind()

    async def release(self, who: Who, lease: str, party: str, token: int | None) -> Held:
        """Give it back. It is free when this returns. `RefusedError` as for `renew`."""
        held = self._held(self._check_own(lease, party, token))
        found = self._leases.release(lease, party)
        # Whoever speaks for the agent without being it, and without the token, takes it away from under it.
        is_taken = who.agent != party and token is None
        noted = self._lost.lose([found] if is_taken else [], self._now())
        written = self._submit(self._change(who, "lease.released", drop=[found], about=[found], noted=noted), [found])
        self._settle()
        await asyncio.shield(written)
        return held

    async def release_all(self, who: Who, leases: Sequence[Lease]) -> None:
        """Give these back for those who hold them. What the store does not take stays theirs, which is logged."""
        try:
            await self._drop(leases, who, "lease.released")
        except CorralError as error:
            log.error("%d leases are not given back: %s", len(leases), error.message)

    def _check_own(self, lease: str, party: str, token: int | None) -> Lease:
        # Whose it is comes first: nobody finds out the token of what is somebody else's.
        found = self._leases.own(lease, party)
        if token is not None and token != found.token:
            raise RefusedError(f"{lease} has another token than {token}", "it is the one that acquire answered with")
        return found

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
        departed = self._leases.departed(alive, ended)
        for number in departed:
            party = self._waiting[number].claim.party
            agent = self._registry.agents.get(_key(party))
            self._send_away(number, does_not_run(party.name, agent.state if agent is not None else "it is gone"))
        if gone or noted.drop:
            self._submit(self._change(SUPERVISOR, "lease.released", drop=gone, about=gone, noted=noted), gone)
        if changed:
            suspects = [lease for lease in changed if lease.suspect]
            self._submit(self._change(SUPERVISOR, "lease.suspect", put=changed, about=suspects))
        if gone or changed or departed:
            self._settle()

    def _expire(self) -> None:
        self._timer = None
        gone = self._leases.expire(self._clock())
        if gone:
            noted = self._lost.lose(gone, self._now())
            self._submit(self._change(SUPERVISOR, "lease.expired", drop=gone, about=gone, noted=noted), gone)
            self._settle()
        self._wind()

    def _wind(self) -> None:
        """Have a look at the next deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._leases.next_deadline()
        if deadline is not None and self._again is not None:
            deadline = max(deadline, self._again.when())
        if deadline is not None:
            self._timer = asyncio.get_running_loop().call_at(deadline, self._expire)

    async def _drop(self, leases: Sequence[Lease], who: Who, event: str) -> None:
        there = [lease for lease in leases if lease.lease in self._leases.held]
        for lease in there:
            self._leases.release(lease.lease, lease.claim.party.name)
        if there:
            written = self._submit(self._change(who, event, drop=there, about=there), there)
            self._settle()
            await asyncio.shield(written)

    def _submit(self, change: Change, gone: Sequence[Lease] = ()) -> asyncio.Future[None]:
        """Have a change written that takes these leases away. If that fails, the state is read again: they are held
        again, and what happened by itself happens again, later.
        """
        leases, written = self._leases, self._ledger.submit(change)

        def told(done: asyncio.Future[None]) -> None:
            done.exception()  # whoever waits for it hears of it
            leases.forget(gone)

        written.add_done_callback(told)
        return written

    # Telling

    def _held(self, lease: Lease) -> Held:
        return Held(lease, self._now() + self._leases.expires_in(lease, self._clock()))

    def _first(self, compared: Comparing) -> Obstacle | None:
        return next(self._leases.obstacles(compared), None)

    def _refusal(
        self, claim: Claim, obstacle: Obstacle | None, *, waited: bool = False, asked: str = ""
    ) -> RefusedError:
        if obstacle is None:
            return RefusedError(f"time was up when {what(claim)} was about to be had", "ask again")
        return refusal(obstacle, self._until(obstacle), waited=waited, asked=asked)

    def _cycle(self, error: RefusedError, number: int) -> RefusedError:
        """The refusal of a wait that would close a cycle, with what is in the way at its first step."""
        return self._with_holder(error, list(self._leases.obstacles_of(number)))

    def _cycle_of(self, error: RefusedError, compared: Comparing) -> RefusedError:
        """The same for a claim that stands in no line."""
        return self._with_holder(error, list(self._leases.obstacles(compared)))

    def _with_holder(self, error: RefusedError, found: Sequence[Obstacle]) -> RefusedError:
        first = next((one for one in found if one.claim.party.name == error.details.get("holder")), None)
        obstacle = first or next(iter(found), None)
        return with_holder(error, obstacle, self._until(obstacle))

    def _until(self, obstacle: Obstacle | None) -> float:
        return self._now() if obstacle is None or obstacle.lease is None else self.until(obstacle.lease)

    @staticmethod
    def _clock() -> float:
        return asyncio.get_running_loop().time()


def _names(in_the_way: Iterable[str | int]) -> list[str]:
    """Those of leases, and not of who waits."""
    return [key for key in in_the_way if isinstance(key, str)]


def _run_of(agent: Agent) -> str:
    """The run that an agent may be alive in; empty if its last one is over. Of an unknown one nothing is taken away."""
    return agent.run if agent.state in states.LIVE else ""


def _key(party: Party) -> tuple[str, str]:
    team, _, agent = party.name.partition("/")
    return team, agent
