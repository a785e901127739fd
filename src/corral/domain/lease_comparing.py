"""A claim is compared with all that may be in its way, in steps, so that others get their turn in between.

What was compared once is never compared again: claims do not change, and a name or a number is never another's. What
was added since is found by the version of its realm. When a step is the last one, everything that is there at that
moment was compared, and what is decided then, before anything else happens, is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corral.domain.errors import RefusedError
from corral.domain.lease_index import LeaseIndex
from corral.domain.lease_model import Claim
from corral.domain.path_patterns import Pattern

#: Pairs of patterns that are compared for one request: eight patterns that may be anywhere, with as many as a realm
#: can have held.
MOST_COMPARED = 262_144
#: Of claims with so few patterns, all are compared: to look for those that are near takes longer.
_FEW = 4
_OUR_KEY = 0
Key = str | int


class Comparing:
    """One claim, and what is in its way: leases by name, those in line by number."""

    def __init__(
        self,
        claim: Claim,
        held: LeaseIndex[str],
        line: LeaseIndex[int],
        *others: LeaseIndex[str],
        first_only: bool = False,
        spent: int = 0,
    ) -> None:
        """With `first_only` it is done as soon as something that is held, or waits, is in the way.

        `others` have leases that nobody has any more, which are compared as well. `spent` was compared for the request.
        """
        self.claim = claim
        #: What is in the way, and what of it.
        self.in_the_way: dict[Key, Pattern] = {}
        #: Pairs of patterns that were compared for the request.
        self.compared = spent
        self._first_only = first_only
        self._stopping: tuple[LeaseIndex[str] | LeaseIndex[int], ...] = (held, line)
        self._indexes: tuple[LeaseIndex[str] | LeaseIndex[int], ...] = (*self._stopping, *others)
        self._versions: list[int] = []
        self._seen: set[Key] = set()
        self._left: Iterator[tuple[Key, Claim, Sequence[int], bool]] = iter(())
        self._ours: LeaseIndex[int] | None = None

    def step(self, most: int) -> bool:
        """Compare some pairs of patterns, about so many at most; True if there is more to do.

        `RefusedError` if it is more than may be compared for one request.
        """
        until = self.compared + most
        while True:
            for key, claim, numbers, stops in self._left:
                if key in self._seen:
                    continue
                self._seen.add(key)
                found = self._compare(claim, numbers)
                if found is not None:
                    self.in_the_way[key] = found
                    if self._first_only and stops:
                        return False
                if self.compared > MOST_COMPARED:
                    raise _too_much(self.claim)
                if self.compared >= until:
                    return True
            versions = [index.version(self.claim.realm) for index in self._indexes]
            if versions == self._versions:
                return False
            self._versions = versions
            self._left = self._candidates()

    def all(self) -> Comparing:
        """Do all of it at once."""
        while self.step(MOST_COMPARED):
            pass
        return self

    def _candidates(self) -> Iterator[tuple[Key, Claim, Sequence[int], bool]]:
        """What has to be looked at: found now, and compared bit by bit."""
        realm, patterns = self.claim.realm, self.claim.compared
        found = []
        for index in self._indexes:
            claims: Mapping[Any, Claim] = index.claims(realm)
            stops = index in self._stopping
            near = index.near(realm, patterns)
            found += [(key, claims[key], numbers, stops) for key, numbers in near.items() if key not in self._seen]
        return iter(found)

    def _compare(self, other: Claim, numbers: Sequence[int]) -> Pattern | None:
        """The first of the other's patterns with these numbers that keeps the claim from being granted."""
        if not other.excludes(self.claim):
            return None
        theirs = other.compared
        for number in numbers if len(numbers) == 1 else sorted(numbers):
            for ours in self._near(theirs[number]):
                self.compared += 1
                if theirs[number].overlaps(ours):
                    return other.patterns[number]
        return None

    def _near(self, theirs: Pattern) -> Sequence[Pattern]:
        """Those of our patterns that may name the same file."""
        ours = self.claim.compared
        if len(ours) <= _FEW:
            return ours
        if self._ours is None:
            self._ours = LeaseIndex()
            self._ours.add(_OUR_KEY, self.claim)
        self.compared += 1
        return [ours[number] for number in self._ours.near(self.claim.realm, (theirs,)).get(_OUR_KEY, ())]


def _too_much(claim: Claim) -> RefusedError:
    widest = max(claim.patterns, key=lambda one: (one.wildcards, -len(one.beginning)))
    others = " and the others" if len(claim.patterns) > 1 else ""
    return RefusedError(
        f"{widest.text[:80]!r}{others} would have to be compared with what "
        f"is held and waited for more than {MOST_COMPARED} times",
        "ask for fewer at once, or for some that begin with a directory; corral lease ls shows what is held",
    )
