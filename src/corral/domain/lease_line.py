"""Those who wait for leases, in the order in which they came, each with what is in its way.

That is found out once, when somebody joins the line, and from then on only gets less: what is granted past somebody in
line is in nobody's way there. So when something is given back, nothing is compared. Nor is it when all is read again,
because something could not be written: what is in somebody's way then is what they met before, if it is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from corral.domain.lease_comparing import Key
from corral.domain.lease_index import LeaseIndex
from corral.domain.lease_model import Claim, Lease
from corral.domain.lease_room import check_waits
from corral.domain.path_patterns import Pattern


@dataclass(frozen=True, slots=True)
class Blocker:
    """Who is in the way, and with what."""

    party: str
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class _Standing:
    claim: Claim
    #: What is in the way still: leases by name, those who came first by number.
    behind: dict[Key, Blocker]
    #: How often each party is in the way.
    parties: Counter[str]
    #: All that was in the way at any time, be it gone since, and what of it.
    met: dict[Key, Pattern]


class Line:
    """All who wait."""

    def __init__(self) -> None:
        self.index: LeaseIndex[int] = LeaseIndex()
        self._standing: dict[int, _Standing] = {}
        #: By what is in the way: in whose.
        self._blocked: dict[Key, set[int]] = {}
        #: Those who were taken to be granted what they want, as long as it is not sure; and what they became.
        self._taken: dict[int, _Standing] = {}
        self._became: dict[Key, int] = {}
        self._ready: set[int] = set()
        #: Of which something is not in the way any more since it was last asked.
        self._changed: set[int] = set()
        #: How often each party waits, and how much is in its way.
        self._waits: Counter[str] = Counter()
        self._weights: Counter[str] = Counter()

    def __contains__(self, number: object) -> bool:
        return number in self._standing

    def claims(self) -> Iterator[tuple[int, Claim]]:
        """All who wait, the first first."""
        return ((number, one.claim) for number, one in self._standing.items())

    def claim(self, number: int) -> Claim:
        """What is waited for under a number."""
        return self._standing[number].claim

    def check(self, claim: Claim, in_the_way: int) -> None:
        """`RefusedError` if the party cannot wait once more, with so much in its way."""
        party = claim.party.name
        check_waits(party, self._waits[party], self._weights[party] + in_the_way)

    def stand(
        self, number: int, claim: Claim, behind: Mapping[Key, Blocker], met: Mapping[Key, Pattern] | None = None
    ) -> None:
        """Join the line at its end. `met` has what was in the way before, and is not any more."""
        parties = Counter(blocker.party for blocker in behind.values())
        met = {**(met or {}), **{key: blocker.pattern for key, blocker in behind.items()}}
        self._standing[number] = _Standing(claim, dict(behind), parties, met)
        self.index.add(number, claim)
        for key in behind:
            self._blocked.setdefault(key, set()).add(number)
        if not behind:
            self._ready.add(number)
        self._changed.add(number)
        self._waits[claim.party.name] += 1
        self._weights[claim.party.name] += len(behind)

    def leave(self, number: int) -> Claim | None:
        """Stand there no more; those behind do not wait for it. None if nobody stands there."""
        one = self._take(number)
        self.gone(number)
        return one.claim if one is not None else None

    def next_ready(self) -> int | None:
        """The first one that nothing is in the way of."""
        return min(self._ready, default=None)

    def take(self, number: int) -> list[str]:
        """It is to be granted: it stands there no more, but is in the way as before until `became` or `gone`.

        The names of the leases that were in its way. `sure` must follow, or all is read `again`.
        """
        one = self._take(number)
        assert one is not None
        self._taken[number] = one
        return [key for key in one.met if isinstance(key, str)]

    def became(self, number: int, lease: str) -> None:
        """Who stood there holds a lease now, which is in the way of the same others."""
        self._became[lease] = number
        behind = self._blocked.pop(number, None)
        for other in behind or ():
            one = self._standing[other]
            one.behind[lease] = one.behind.pop(number)
            one.met[lease] = one.behind[lease].pattern
            self._changed.add(other)
        if behind:
            self._blocked[lease] = behind

    def sure(self, number: int, lease: str) -> None:
        """What was granted to who stood there holds, or is not wanted any more: nobody comes back to that place."""
        self._taken.pop(number, None)
        self._became.pop(lease, None)

    def again(self, held: Mapping[str, Lease], back: Collection[int]) -> Line:
        """The same line when these are held: all who stand there, and those of who were taken from it that come `back`.

        In the way of each is what they met at any time and what is there. What they never met is in nobody's way.
        """
        line = Line()
        standing = {**self._standing, **{number: self._taken[number] for number in back}}
        for number, one in sorted(standing.items()):
            met, behind = dict(one.met), {}
            met.update((self._became[key], pattern) for key, pattern in one.met.items() if key in self._became)
            for key, pattern in met.items():
                there = held.get(key) if isinstance(key, str) else standing.get(key)
                if there is not None:
                    behind[key] = Blocker(there.claim.party.name, pattern)
            line.stand(number, one.claim, behind, met)
        return line

    def gone(self, key: Key) -> None:
        """A lease, or somebody in line, is in nobody's way any more."""
        if isinstance(key, int):
            self._taken.pop(key, None)
        for number in self._blocked.pop(key, ()):
            one = self._standing[number]
            party = one.behind.pop(key).party
            one.parties[party] -= 1
            if not one.parties[party]:
                del one.parties[party]
            self._changed.add(number)
            self._weigh(one.claim, -1)
            if not one.behind:
                self._ready.add(number)

    def behind(self, number: int) -> Mapping[Key, Blocker]:
        """What is in the way of somebody in line; nothing if they stand there no more."""
        one = self._standing.get(number)
        return one.behind if one is not None else {}

    def parties(self, number: int) -> set[str]:
        """Who is in the way of somebody in line."""
        return set(self._standing[number].parties)

    def changed(self) -> list[int]:
        """Those in line for whom it is others, or fewer, that are waited for than when this was last asked."""
        found = sorted(number for number in self._changed if number in self._standing)
        self._changed.clear()
        return found

    def _take(self, number: int) -> _Standing | None:
        one = self._standing.pop(number, None)
        if one is None:
            return None
        self.index.remove(number, one.claim)
        self._ready.discard(number)
        for key in one.behind:
            blocked = self._blocked[key]
            blocked.discard(number)
            if not blocked:
                del self._blocked[key]
        self._weigh(one.claim, -len(one.behind))
        party = one.claim.party.name
        self._waits[party] -= 1
        if not self._waits[party]:
            del self._waits[party], self._weights[party]
        return one

    def _weigh(self, claim: Claim, more: int) -> None:
        self._weights[claim.party.name] += more
