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

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from corral.domain.deadlines import Deadlines
from corral.domain.errors import RefusedError
from corral.domain.lease_comparing import Comparing, Key
from corral.domain.lease_index import LeaseIndex
from corral.domain.lease_line import Blocker, Line
from corral.domain.lease_model import Claim, Lease, Obstacle, lease_name, no_lease
from corral.domain.lease_room import Room
from corral.domain.message_commands import send_command
from corral.domain.path_patterns import Pattern

_NONE: Mapping[str, Lease] = {}


class Leases:
    """All of them. Times are of the clock that the caller uses, which must only go on."""

    def __init__(self) -> None:
        #: By name.
        self.held: dict[str, Lease] = {}
        self._index: LeaseIndex[str] = LeaseIndex()
        #: By who holds them, then by name.
        self._of_party: dict[str, dict[str, Lease]] = {}
        self._deadlines = Deadlines()
        self._room = Room()
        self._line = Line()
        #: What was held until now, as long as that is not sure: it may be held again.
        self._going: LeaseIndex[str] = LeaseIndex()
        #: Who was taken from the line to be granted what they want, and is not granted it yet.
        self._handed: tuple[int, Claim] | None = None
        #: The last of all changes that was one of a realm: as long as it is, what is in the way there is the same. None
        #: of a realm in which nothing is held or waited for.
        self._versions: dict[str, int] = {}
        self._changes = 0
        #: How many numbers have been given out.
        self.numbers = 0

    # Asking

    def comparing(self, claim: Claim, *, lost: LeaseIndex[str] | None = None, first_only: bool = False) -> Comparing:
        """The claim, to be compared with all that is held and waited for; see there."""
        others = (self._going,) if lost is None else (self._going, lost)
        return Comparing(claim, self._index, self._line.index, *others, first_only=first_only)

    def comparing_with_held(self, claim: Claim, spent: int = 0) -> Comparing:
        """The same with what is held alone, up to the first that is in the way; `spent` was compared before."""
        return Comparing(claim, self._index, LeaseIndex(), first_only=True, spent=spent)

    def conflict(self, claim: Claim) -> tuple[Lease, Pattern] | None:
        """A lease that is in the way of a claim, and what of it is."""
        found = self.comparing_with_held(claim).all().in_the_way
        return next(((self.held[str(name)], pattern) for name, pattern in found.items()), None)

    def obstacles(self, compared: Comparing) -> Iterator[Obstacle]:
        """All that is in the way of a claim, as far as it was compared; what is held comes first."""
        yield from self._obstacles(compared.in_the_way)

    def obstacles_of(self, number: int) -> Iterator[Obstacle]:
        """All that is in the way of somebody in line; nothing if they stand there no more."""
        yield from self._obstacles({key: one.pattern for key, one in self._line.behind(number).items()})

    def _obstacles(self, in_the_way: Mapping[Key, Pattern]) -> Iterator[Obstacle]:
        for key, pattern in in_the_way.items():
            if isinstance(key, str) and key in self.held:
                lease = self.held[key]
                yield Obstacle(lease.claim, pattern, lease, held=True)
        for key, pattern in in_the_way.items():
            if isinstance(key, int) and key in self._line:
                yield Obstacle(self._line.claim(key), pattern, self._waited_for_first(key), held=False)

    def _waited_for_first(self, number: int) -> Lease | None:
        """The lease that somebody in line waits for, be it behind others."""
        while True:
            behind = self._line.behind(number)
            held = next((key for key in behind if isinstance(key, str)), None)
            if held is not None:
                return self.held[held]
            ahead = [key for key in behind if isinstance(key, int) and key in self._line]
            if not ahead:
                return None
            number = max(ahead)

    def is_free(self, claim: Claim, compared: Comparing | None = None) -> bool:
        """True if it can be granted now: nothing that is held is in the way, and nobody who waits."""
        compared = compared or self.comparing(claim, first_only=True).all()
        return not self._still(compared)

    def _still(self, compared: Comparing) -> dict[Key, Pattern]:
        """What is in the way of a claim and is still there; what was lost is not."""
        return {key: one for key, one in compared.in_the_way.items() if key in self.held or key in self._line}

    def check_room(self, claim: Claim) -> None:
        """`RefusedError` for whoever would hold more than one may: all of it is in memory, and on the disk."""
        self._room.check(claim)

    def version(self, realm: str) -> int:
        """Another number whenever something came to a realm or went from it, or somebody joined or left its line."""
        return self._versions.get(realm, 0)

    def _moved(self, realm: str) -> None:
        self._changes += 1
        if self._room.is_empty(realm):
            self._versions.pop(realm, None)
        else:
            self._versions[realm] = self._changes

    # Waiting

    def wait(self, claim: Claim, compared: Comparing | None = None) -> int:
        """Stand in line; the number to leave it by. `RefusedError` for whoever waits for too much."""
        compared = compared or self.comparing(claim).all()
        still = self._still(compared)
        self._line.check(claim, len(still))
        self.numbers += 1
        behind = {key: Blocker(self._party_of(key), pattern) for key, pattern in still.items()}
        self._line.stand(self.numbers, claim, behind, compared.in_the_way)
        self._room.take(claim)
        self._moved(claim.realm)
        return self.numbers

    def _party_of(self, key: Key) -> str:
        claim = self.held[key].claim if isinstance(key, str) else self._line.claim(key)
        return claim.party.name

    def leave(self, number: int) -> None:
        """Stand in line no more; again is no harm."""
        claim = self._line.leave(number)
        if claim is not None:
            self._room.free(claim)
            self._moved(claim.realm)

    def waited_for(self, number: int) -> set[str]:
        """Whom else somebody in line waits for: who holds what is in the way, and who came before and wants it too."""
        # Another command of the same party goes on meanwhile.
        return self._line.parties(number) - {self._line.claim(number).party.name}

    def ahead_of(self, claim: Claim, compared: Comparing | None = None) -> set[str]:
        """Whom somebody would wait for who asked for this now."""
        compared = compared or self.comparing(claim).all()
        return {self._party_of(key) for key in self._still(compared)} - {claim.party.name}

    def changed_waits(self) -> list[int]:
        """Those in line who wait for others, or for less, than when this was last asked."""
        return self._line.changed()

    def own_locks_ahead(self, claim: Claim) -> set[str]:
        """The locks of the same party that are in the way of a claim of it."""
        near = [self.held[name] for name in self._index.near(claim.realm, claim.compared)]
        own = [lease for lease in near if lease.claim.party.name == claim.party.name]
        return {lease.lease for lease in own if lease.claim.is_in_the_way_of(claim)}

    def own_locks_around(self, claim: Claim) -> list[str]:
        """The locks of the same party that the command runs within which asks; what else it says is not believed."""
        around = [self.held[name] for name in claim.within if name in self.held]
        return [lease.lease for lease in around if lease.claim.lock and lease.claim.party.name == claim.party.name]

    def next_in_line(self) -> Iterator[tuple[int, Claim, Collection[str]]]:
        """Each claim in line that can be granted now, the first first. Grant it before the next one is taken.

        With it are the names of all leases that were in its way since it was asked for. `sure` must follow, or all is
        read `again`.
        """
        while (number := self._line.next_ready()) is not None:
            claim = self._line.claim(number)
            met = self._line.take(number)
            self._room.free(claim)
            self._moved(claim.realm)
            self._handed = number, claim
            yield number, claim, met
            if self._handed is not None:  # it was not granted after all
                self._handed = None
                self._line.gone(number)

    def sure(self, number: int, lease: str) -> None:
        """What was granted to somebody in line is on the disk: they will not stand there again."""
        self._line.sure(number, lease)

    def grant(self, claim: Claim, token: int, since: float, now: float) -> Lease:
        """Give somebody what is free."""
        lease = Lease(lease=lease_name(token), token=token, claim=claim, since=since)
        self._put(lease)
        if self._handed is not None and self._handed[1] is claim:
            self._line.became(self._handed[0], lease.lease)
            self._handed = None
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
        parties = [(number, claim.party) for number, claim in self._line.claims()]
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
    def restored(cls, leases: Iterable[Lease], now: float, line: Line | None = None, numbers: int = 0) -> Leases:
        """As an earlier daemon granted them. What needs to be renewed has its whole time again.

        Who stands in `line` goes on standing there; `numbers` have been given out.
        """
        found = cls()
        found.numbers = numbers
        for lease in leases:
            found._put(lease)
            if lease.suspect or not lease.claim.party.run:
                found._deadlines.set(lease.lease, now + lease.claim.ttl)
        if line is not None:
            found._line = line
            for _, claim in line.claims():
                found._room.take(claim)
                found._moved(claim.realm)
        return found

    def again(self, leases: Iterable[Lease], now: float, back: Collection[int] = ()) -> Leases:
        """The same when these are held, because nothing else could be written; as for `restored`.

        Who stands in line stands where they stood, and so do those of who were taken from it that come `back`.
        """
        held = {lease.lease: lease for lease in leases}
        return Leases.restored(held.values(), now, self._line.again(held, back), self.numbers)

    def forget(self, leases: Iterable[Lease]) -> None:
        """These are held no more, and that is on the disk: they will not be held again."""
        for lease in leases:
            self._going.remove(lease.lease, lease.claim)

    def _put(self, lease: Lease) -> None:
        if lease.lease not in self.held:
            self._index.add(lease.lease, lease.claim)
            self._room.take(lease.claim)
            self._moved(lease.claim.realm)
        self.held[lease.lease] = lease
        self._of_party.setdefault(lease.claim.party.name, {})[lease.lease] = lease

    def _drop(self, lease: Lease) -> None:
        del self.held[lease.lease]
        own = self._of_party[lease.claim.party.name]
        del own[lease.lease]
        if not own:
            del self._of_party[lease.claim.party.name]
        self._index.remove(lease.lease, lease.claim)
        self._going.add(lease.lease, lease.claim)
        self._room.free(lease.claim)
        self._line.gone(lease.lease)
        self._moved(lease.claim.realm)
        self._deadlines.clear(lease.lease)
