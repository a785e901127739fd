"""A claim is compared with all that may be in its way, in steps, so that others get their turn in between.

What may be in the way is found in steps as well, once. What was compared once is never compared again: claims do not
change, and a name or a number is never another's. What was added since is found by the version of its realm. When a
step is the last one, everything that is there at that moment was compared, and what is decided then, before anything
else happens, is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        #: By index, up to which version of the realm all was found that may be in the way.
        self._versions = [index.version(claim.realm) for index in self._indexes]
        #: What is to be done still, found as it is done.
        self._left = self._candidates()
        self._ours: LeaseIndex[int] | None = None

    def step(self, most: int) -> bool:
        """Compare some pairs of patterns, about so many at most; True if there is more to do.

        `RefusedError` if it is more than may be compared for one request.
        """
        until, passed = self.compared + most, 0
        for candidate in self._left:
            if isinstance(candidate, int):
                passed += candidate
            else:
                key, claim, numbers, stops = candidate
                found = self._compare(claim, numbers)
                if found is not None:
                    self.in_the_way[key] = found
                    if self._first_only and stops:
                        return False
                if self.compared > MOST_COMPARED:
                    raise _too_much(self.claim)
            if self.compared + passed >= until:
                return True
        return False

    def all(self) -> Comparing:
        """Do all of it at once."""
        while self.step(MOST_COMPARED):
            pass
        return self

    def _candidates(self) -> Iterator[int | tuple[Key, Claim, Sequence[int], bool]]:
        """What has to be compared: which of the patterns of which claim, and whether it ends all. A number is how much
        was done to find that.
        """
        realm, patterns, seen = self.claim.realm, self.claim.compared, set[Key]()
        for index, version in zip(self._indexes, list(self._versions), strict=True):
            near: dict[Any, list[int]] = {}
            for piece in index.pieces(realm, patterns):
                for key, numbers in piece:
                    near.setdefault(key, []).extend(numbers)
                yield 1 + len(piece)
            for key, numbers in near.items():
                # What came since is found below, with all of its patterns.
                claim = index.claim(realm, key, version)
                if claim is not None and key not in seen:
                    seen.add(key)
                    yield key, claim, numbers, index in self._stopping
        while (versions := [index.version(realm) for index in self._indexes]) != self._versions:
            before, self._versions = self._versions, versions
            for index, version in zip(self._indexes, before, strict=True):
                for key, claim in index.since(realm, version):
                    if key not in seen:
                        seen.add(key)
                        yield key, claim, range(len(claim.patterns)), index in self._stopping

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
