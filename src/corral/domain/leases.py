"""Who may write which files: what is held, who waits, and in which order it is given out.

A lease is held by a party (an agent, or a person) on patterns of one *realm*: a repository, or the named locks of a
team. Two leases are in each other's way if they are of different parties, one of them at least is exclusive, and a
pattern of one overlaps with a pattern of the other. Locks are in each other's way also if they are of one party: it is
a command that holds one, and an agent has several. Who asks waits behind what is held and behind everybody who asked
before and is in the way: so nobody is overtaken, and a shared request waits behind an exclusive one that waits.

A lease that belongs to a run of an agent lives with that run. When the run has ended, or if it belongs to none, it goes
at its *deadline*, unless somebody renews it or the run turns out to be alive. Deadlines are on a clock that only goes
on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from corral.domain.deadlines import Deadlines
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.message_commands import send_command
from corral.domain.path_patterns import Pattern, folded

EXCLUSIVE, SHARED = "exclusive", "shared"


@dataclass(frozen=True, slots=True)
class Party:
    """Who holds or wants something: an agent as TEAM/AGENT, or a person."""

    name: str
    #: The run of the agent that it belongs to; empty if it lives by being renewed.
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What somebody wants: all of the patterns, or nothing."""

    realm: str
    patterns: tuple[Pattern, ...]
    mode: str
    party: Party
    #: Seconds that it stays without a sign of life.
    ttl: float
    #: It is a lock: held by a command, and so in the way of others of the same party as well.
    lock: bool = False
    #: Names of the locks that the command runs within which asks for this one.
    within: tuple[str, ...] = ()
    #: Names there are the same whatever their case.
    ignore_case: bool = False

    @property
    def compared(self) -> tuple[Pattern, ...]:
        """The patterns as they are compared, in their order."""
        return tuple(folded(pattern) for pattern in self.patterns) if self.ignore_case else self.patterns

    def is_in_the_way_of(self, other: Claim) -> Pattern | None:
        """The first of our patterns that keeps the other from being granted."""
        if self.realm != other.realm or (self.party.name == other.party.name and not self.lock):
            return None
        if self.mode == SHARED and other.mode == SHARED:
            return None
        wanted = other.compared
        for shown, ours in zip(self.patterns, self.compared, strict=True):
            if any(ours.overlaps(theirs) for theirs in wanted):
                return shown
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What somebody holds."""

    lease: str
    #: Greater than that of every earlier lease.
    token: int
    claim: Claim
    #: Unix seconds at which it was granted.
    since: float
    #: Its run has ended: it goes at its deadline.
    suspect: bool = False


def lease_name(token: int) -> str:
    """What the lease with a token is called."""
    return f"l{token}"


def no_lease(lease: str) -> NotFoundError:
    """What is said of a lease that there is not."""
    return NotFoundError(
        f"there is no lease {lease[:80]}", "it was released or has expired; corral lease ls shows what there is"
    )


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps a claim from being granted: a lease, or somebody who came first and waits for one."""

    #: Of whoever is in the way, and what of it is.
    claim: Claim
    pattern: Pattern
    #: What is in the way, or what whoever is in the way waits for; None if that is just being granted.
    lease: Lease | None
    #: Whoever is in the way holds it.
    held: bool


#: A realm, and how patterns begin there.
_Place = tuple[str, tuple[str, ...]]
_NONE: Mapping[str, Lease] = {}
#: What one party may hold at once. How often it may stand in line is bounded by its connections.
MOST_HELD = 4096


class LeaseIndex:
    """Leases by where their patterns begin, so that most of them need not be looked at.

    Two patterns that name the same file begin alike: the beginning of one is that of the other, or leads there.
    """

    def __init__(self) -> None:
        #: Realm and beginning → leases by name; and those whose beginnings lead on from there.
        self._at: dict[_Place, dict[str, Lease]] = {}
        self._below: dict[_Place, dict[str, Lease]] = {}

    def add(self, lease: Lease) -> None:
        """Take it in; again under its name is instead of the one before."""
        for known, place in self._places(lease.claim):
            known.setdefault(place, {})[lease.lease] = lease

    def remove(self, lease: Lease) -> None:
        """Forget it."""
        for known, place in self._places(lease.claim):
            if found := known.get(place):
                found.pop(lease.lease, None)
                if not found:
                    del known[place]

    def near(self, claim: Claim) -> Iterator[Lease]:
        """Every lease that may be in the way of a claim, each once."""
        seen: set[str] = set()
        for known in self._known_near(claim):
            for name, lease in known.items():
                if name not in seen:
                    seen.add(name)
                    yield lease

    def _known_near(self, claim: Claim) -> Iterator[Mapping[str, Lease]]:
        for pattern in claim.compared:
            beginning = pattern.beginning
            for length in range(len(beginning) + 1):
                yield self._at.get((claim.realm, beginning[:length]), _NONE)
            # What names one file has nothing below it.
            if not pattern.is_plain:
                yield self._below.get((claim.realm, beginning), _NONE)

    def _places(self, claim: Claim) -> Iterator[tuple[dict[_Place, dict[str, Lease]], _Place]]:
        for pattern in claim.compared:
            beginning = pattern.beginning
            yield self._at, (claim.realm, beginning)
            for length in range(len(beginning)):
                yield self._below, (claim.realm, beginning[:length])


class Leases:
    """All of them. Times are of the clock that the caller uses, which must only go on."""

    def __init__(self) -> None:
        #: By name.
        self.held: dict[str, Lease] = {}
        self._index = LeaseIndex()
        #: By who holds them, then by name.
        self._of_party: dict[str, dict[str, Lease]] = {}
        self._deadlines = Deadlines()
        #: Those who wait, by number and so in the order in which they came.
        self._line: dict[int, Claim] = {}
        #: How many numbers have been given out.
        self.numbers = 0

    # Asking

    def conflict(self, claim: Claim) -> tuple[Lease, Pattern] | None:
        """A lease that is in the way of a claim, and what of it is."""
        for lease in self._index.near(claim):
            if (pattern := lease.claim.is_in_the_way_of(claim)) is not None:
                return lease, pattern
        return None

    def obstacles(self, claim: Claim, number: int | None = None) -> Iterator[Obstacle]:
        """All that is in the way of a claim, which may be in line under this number; what is held comes first."""
        for lease in self._index.near(claim):
            if (pattern := lease.claim.is_in_the_way_of(claim)) is not None:
                yield Obstacle(lease.claim, pattern, lease, held=True)
        for earlier, other in self._line.items():
            if number is not None and earlier >= number:
                return
            if (pattern := other.is_in_the_way_of(claim)) is not None:
                yield Obstacle(other, pattern, self._waited_for_first(earlier, other), held=False)

    def _waited_for_first(self, number: int, claim: Claim) -> Lease | None:
        """The lease that somebody in line waits for, be it behind others."""
        for earlier, other in reversed([(one, wanted) for one, wanted in self._line.items() if one <= number]):
            if earlier == number or other.is_in_the_way_of(claim) is not None:
                claim = other
                if (found := self.conflict(claim)) is not None:
                    return found[0]
        return None

    def is_free(self, claim: Claim) -> bool:
        """True if it can be granted now: nothing that is held is in the way, and nobody who waits."""
        return not any(earlier.is_in_the_way_of(claim) for earlier in self._line.values()) and (
            self.conflict(claim) is None
        )

    def check_room(self, party: str) -> None:
        """`RefusedError` for whoever holds as much as one may: all of it is in memory, and on the disk."""
        if len(self._of_party.get(party, _NONE)) >= MOST_HELD:
            raise RefusedError(
                f"{party} holds {MOST_HELD} leases and locks, and may hold no more",
                "release some, or hold several files with one lease, by a pattern",
            )

    def wait(self, claim: Claim) -> int:
        """Stand in line; the number to leave it by."""
        self.numbers += 1
        self._line[self.numbers] = claim
        return self.numbers

    def leave(self, number: int) -> None:
        """Stand in line no more; again is no harm."""
        self._line.pop(number, None)

    def waited_for(self, number: int) -> set[str]:
        """Whom else somebody in line waits for: who holds what is in the way, and who came before and wants it too."""
        return self._ahead(self._line[number], number)

    def ahead_of(self, claim: Claim) -> set[str]:
        """Whom somebody would wait for who asked for this now."""
        return self._ahead(claim, self.numbers + 1)

    def _ahead(self, claim: Claim, number: int) -> set[str]:
        found = {lease.claim.party.name for lease in self._index.near(claim) if lease.claim.is_in_the_way_of(claim)}
        for earlier, other in self._line.items():
            if earlier >= number:
                break
            if other.is_in_the_way_of(claim):
                found.add(other.party.name)
        found.discard(claim.party.name)  # another command of the same party, which goes on meanwhile
        return found

    def own_locks_ahead(self, claim: Claim) -> set[str]:
        """The locks of the same party that are in the way of a claim of it."""
        near = [lease for lease in self._index.near(claim) if lease.claim.party.name == claim.party.name]
        return {lease.lease for lease in near if lease.claim.is_in_the_way_of(claim)}

    def own_locks_around(self, claim: Claim) -> list[str]:
        """The locks of the same party that the command runs within which asks; what else it says is not believed."""
        around = [self.held[name] for name in claim.within if name in self.held]
        return [lease.lease for lease in around if lease.claim.lock and lease.claim.party.name == claim.party.name]

    def next_in_line(self) -> Iterator[tuple[int, Claim]]:
        """Each claim in line that can be granted now, the first first. Grant it before the next one is taken."""
        passed: list[Claim] = []
        for number, claim in list(self._line.items()):
            if any(earlier.is_in_the_way_of(claim) for earlier in passed) or self.conflict(claim) is not None:
                passed.append(claim)
                continue
            del self._line[number]
            yield number, claim

    def grant(self, claim: Claim, token: int, since: float, now: float) -> Lease:
        """Give somebody what is free."""
        lease = Lease(lease=lease_name(token), token=token, claim=claim, since=since)
        self._put(lease)
        if not claim.party.run:
            self._deadlines.set(lease.lease, now + claim.ttl)
        return lease

    # Keeping

    def get(self, lease: str) -> Lease:
        """The lease of that name, or `NotFoundError`."""
        try:
            return self.held[lease]
        except KeyError:
            raise no_lease(lease) from None

    def own(self, lease: str, party: str) -> Lease:
        """The lease of that name, which somebody holds; `RefusedError` with the holder if it is somebody else."""
        found = self.get(lease)
        if found.claim.party.name != party:
            raise RefusedError(
                f"{lease} is held by {found.claim.party.name}, not by {party}",
                f"ask them to release it: {send_command(found.claim.party.name)}",
                holder=found.claim.party.name,
            )
        return found

    def of_party(self, party: str) -> list[Lease]:
        """All that somebody holds, the oldest first."""
        return list(self._of_party.get(party, _NONE).values())

    def renew(self, lease: str, party: str, now: float) -> Lease:
        """A sign of life of whoever holds it."""
        found = self.own(lease, party)
        if lease in self._deadlines:
            self._deadlines.set(lease, now + found.claim.ttl)
        return found

    def release(self, lease: str, party: str) -> Lease:
        """It is given back."""
        found = self.own(lease, party)
        self._drop(found)
        return found

    def expires_in(self, lease: Lease, now: float) -> float:
        """Seconds that it stays without a sign of life from now on."""
        deadline = self._deadlines.get(lease.lease)
        return lease.claim.ttl if deadline is None else max(deadline - now, 0.0)

    # Life and death

    def observe(self, alive: Mapping[str, str], ended: Iterable[str], now: float) -> tuple[list[Lease], list[Lease]]:
        """Take in which run each agent has (by party) and which agents were ended on purpose.

        What changed: leases that are gone, because their agent was ended, and leases that became suspect or are so no
        more. An agent of which nothing is said may be alive.
        """
        on_purpose = set(ended)
        gone, changed = [], []
        for lease in list(self.held.values()):
            party = lease.claim.party
            if party.name in on_purpose:
                self._drop(lease)
                gone.append(lease)
            elif party.run and party.name in alive and (alive[party.name] != party.run) != lease.suspect:
                now_it_is = replace(lease, suspect=not lease.suspect)
                self._put(now_it_is)
                if now_it_is.suspect:
                    self._deadlines.set(lease.lease, now + lease.claim.ttl)
                else:
                    self._deadlines.clear(lease.lease)
                changed.append(now_it_is)
        return gone, changed

    def departed(self, alive: Mapping[str, str], ended: Iterable[str]) -> list[int]:
        """Those in line whose agent was ended or whose run is over, told as for `observe`: nobody could have it."""
        on_purpose = set(ended)
        parties = [(number, claim.party) for number, claim in self._line.items()]
        return [
            number
            for number, party in parties
            if party.name in on_purpose or (party.run and alive.get(party.name, party.run) != party.run)
        ]

    def expire(self, now: float) -> list[Lease]:
        """Take away what is past its deadline."""
        gone = [self.held[name] for name in self._deadlines.past(now)]
        for lease in gone:
            self._drop(lease)
        return gone

    def next_deadline(self) -> float | None:
        """When there will be something to expire."""
        return self._deadlines.next()

    @classmethod
    def restored(
        cls, leases: Iterable[Lease], now: float, *, line: Mapping[int, Claim] | None = None, numbers: int = 0
    ) -> Leases:
        """As an earlier daemon granted them. What needs to be renewed has its whole time again.

        Those in line, by number, stand where they stood; `numbers` have been given out.
        """
        found = cls()
        found._line = dict(sorted((line or {}).items()))
        found.numbers = numbers
        for lease in leases:
            found._put(lease)
            if lease.suspect or not lease.claim.party.run:
                found._deadlines.set(lease.lease, now + lease.claim.ttl)
        return found

    def _put(self, lease: Lease) -> None:
        self.held[lease.lease] = lease
        self._of_party.setdefault(lease.claim.party.name, {})[lease.lease] = lease
        self._index.add(lease)

    def _drop(self, lease: Lease) -> None:
        del self.held[lease.lease]
        own = self._of_party[lease.claim.party.name]
        del own[lease.lease]
        if not own:
            del self._of_party[lease.claim.party.name]
        self._index.remove(lease)
        self._deadlines.clear(lease.lease)
