"""Claims by where their patterns begin, so that most of them need not be compared with one another.

Two patterns that name the same file begin alike: the beginning of one is that of the other, or leads there. The
beginnings of a realm are a tree with a node for each directory that they go through. Patterns share its nodes, so it
never has more of them than there are parts in all patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from corral.domain.lease_model import Claim
from corral.domain.path_patterns import Pattern

K = TypeVar("K", str, int)
#: Of claims that are near, so many are found at once.
_PIECE = 256


class _Node(Generic[K]):
    """A directory, or a file, that patterns begin with."""

    __slots__ = ("at", "below")

    def __init__(self) -> None:
        #: Whose patterns have no more of a beginning, and which of their patterns. Mostly there is nothing.
        self.at: dict[K, list[int]] | None = None
        self.below: dict[str, _Node[K]] | None = None


class _Realm(Generic[K]):
    """What is known of one realm."""

    __slots__ = ("added", "claims", "root", "version")

    def __init__(self) -> None:
        #: In the order in which they came, and with which version each did.
        self.claims: dict[K, Claim] = {}
        self.added: dict[K, int] = {}
        self.root: _Node[K] = _Node()
        self.version = 0


class LeaseIndex(Generic[K]):
    """Claims by a key: the name of a lease, or a number in the line."""

    def __init__(self) -> None:
        self._realms: dict[str, _Realm[K]] = {}
        self._adds = 0

    def add(self, key: K, claim: Claim) -> None:
        """Take it in; again is no harm."""
        realm = self._realms.setdefault(claim.realm, _Realm())
        if key in realm.claims:
            return
        self._adds += 1
        realm.version = self._adds
        realm.claims[key] = claim
        realm.added[key] = self._adds
        for number, pattern in enumerate(claim.compared):
            node = realm.root
            for part in pattern.beginning:
                if node.below is None:
                    node.below = {}
                node = node.below.setdefault(part, _Node())
            if node.at is None:
                node.at = {}
            node.at.setdefault(key, []).append(number)

    def remove(self, key: K, claim: Claim) -> None:
        """Forget it; again is no harm."""
        realm = self._realms.get(claim.realm)
        if realm is None or realm.claims.pop(key, None) is None:
            return
        del realm.added[key]
        for pattern in claim.compared:
            _forget(realm.root, key, pattern.beginning)
        if not realm.claims:
            del self._realms[claim.realm]

    def version(self, realm: str) -> int:
        """Another number whenever something was added to a realm; 0 if it has nothing."""
        found = self._realms.get(realm)
        return found.version if found is not None else 0

    def claim(self, realm: str, key: K, version: int) -> Claim | None:
        """One of a realm, if it is there still and was when the realm had that version."""
        known = self._realms.get(realm)
        return known.claims[key] if known is not None and known.added.get(key, version + 1) <= version else None

    def since(self, realm: str, version: int) -> list[tuple[K, Claim]]:
        """Those that came to a realm since it had that version."""
        known, found = self._realms.get(realm), []
        for key in reversed(known.claims) if known is not None else ():
            assert known is not None
            if known.added[key] <= version:
                break
            found.append((key, known.claims[key]))
        return found

    def near(self, realm: str, patterns: Sequence[Pattern]) -> dict[K, list[int]]:
        """Every claim that may name a file which one of the patterns names, with those of its patterns that may."""
        found: dict[K, list[int]] = {}
        for piece in self.pieces(realm, patterns):
            for key, numbers in piece:
                found.setdefault(key, []).extend(numbers)
        return found

    def pieces(self, realm: str, patterns: Sequence[Pattern]) -> Iterator[Sequence[tuple[K, list[int]]]]:
        """What is `near`, in pieces that each take a moment; a claim may be in several, and a piece may be empty.

        What comes or goes between two pieces may be missing from them, or be in them in part. Each node is looked at
        once, however many of the patterns lead there.
        """
        known = self._realms.get(realm)
        if known is None:
            return
        seen: set[int] = set()
        tops: list[_Node[K]] = []
        for pattern in patterns:
            way = _way(known.root, pattern.beginning)
            for node in way:
                if id(node) not in seen:
                    seen.add(id(node))
                    yield from _gathered(node)
            # What names one file has nothing below it.
            if len(way) == len(pattern.beginning) + 1 and not pattern.is_plain:
                tops.append(way[-1])
        yield from _gathered_below(tops, seen)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        count, left = 0, [realm.root for realm in self._realms.values()]
        while left:
            count += 1
            left.extend((left.pop().below or {}).values())
        return count


def _way(root: _Node[K], beginning: Sequence[str]) -> list[_Node[K]]:
    """The nodes along a beginning, as far as there are any."""
    way = [root]
    for part in beginning:
        further = way[-1].below.get(part) if way[-1].below is not None else None
        if further is None:
            break
        way.append(further)
    return way


def _gathered(node: _Node[K]) -> Iterator[Sequence[tuple[K, list[int]]]]:
    there = tuple(node.at.items()) if node.at is not None else ()
    yield there[:_PIECE]
    for begin in range(_PIECE, len(there), _PIECE):
        yield there[begin : begin + _PIECE]


def _gathered_below(tops: Iterable[_Node[K]], gathered: set[int]) -> Iterator[Sequence[tuple[K, list[int]]]]:
    """All that is below these, but for what was gathered."""
    passed: set[int] = set()
    left = list(tops)
    while left:
        node = left.pop()
        if id(node) in passed:
            continue
        passed.add(id(node))
        if id(node) not in gathered:
            yield from _gathered(node)
        if node.below is not None:
            left.extend(node.below.values())


def _forget(root: _Node[K], key: K, beginning: Sequence[str]) -> None:
    """Take a key from where a pattern begins, and the nodes away that nothing is left of."""
    way = _way(root, beginning)
    if len(way) <= len(beginning):
        return  # another pattern of the same claim began there as well, and it is gone
    node = way[-1]
    if node.at is not None:
        node.at.pop(key, None)
        node.at = node.at or None
    for above, part in zip(way[-2::-1], reversed(beginning), strict=True):
        if node.at is not None or node.below is not None:
            return
        assert above.below is not None
        del above.below[part]
        above.below = above.below or None
        node = above
