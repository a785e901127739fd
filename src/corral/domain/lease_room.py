"""How much may be held and waited for: all of it is in memory, is on the disk, and is compared with what others want.

What waits counts as held, since it will be without anybody asking again.
"""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.domain.lease_model import Claim

#: What one party may hold at once: leases and locks; patterns in them, parts between slashes, and characters.
MOST_HELD = 4096
MOST_PATTERNS, MOST_PARTS, MOST_CHARACTERS = 8192, 32_768, 1 << 19
#: What may be held in one repository: so many times as much as by one party.
_PARTIES = 4
#: What one party may wait for at once: how often, and how much is in the way of it together.
MOST_WAITS, MOST_IN_THE_WAY = 256, 16_384


@dataclass(slots=True)
class _Size:
    claims: int = 0
    patterns: int = 0
    parts: int = 0
    characters: int = 0

    def add(self, claim: Claim, sign: int) -> None:
        self.claims += sign
        self.patterns += sign * len(claim.patterns)
        self.parts += sign * sum(pattern.parts for pattern in claim.patterns)
        self.characters += sign * sum(len(pattern.text) for pattern in claim.patterns)


class Room:
    """Counts what is held, by party and by realm."""

    def __init__(self) -> None:
        self._parties: dict[str, _Size] = {}
        self._realms: dict[str, _Size] = {}

    def take(self, claim: Claim) -> None:
        """It is held, or waited for."""
        self._parties.setdefault(claim.party.name, _Size()).add(claim, 1)
        self._realms.setdefault(claim.realm, _Size()).add(claim, 1)

    def free(self, claim: Claim) -> None:
        """It is not any more."""
        for sizes, key in ((self._parties, claim.party.name), (self._realms, claim.realm)):
            sizes[key].add(claim, -1)
            if not sizes[key].claims:
                del sizes[key]

    def is_empty(self, realm: str) -> bool:
        """True if nothing of a realm is held or waited for."""
        return realm not in self._realms

    def check(self, claim: Claim) -> None:
        """`RefusedError` if there is no room for one more."""
        party = claim.party.name
        own = self._parties.get(party, _Size())
        if own.claims >= MOST_HELD:
            raise RefusedError(
                f"{party} holds {MOST_HELD} leases and locks, and may hold no more",
                "release some, or hold several files with one lease, by a pattern",
            )
        _check(own, claim, 1, f"{party} would hold", "it")
        if not claim.lock:
            realm = self._realms.get(claim.realm, _Size())
            _check(realm, claim, _PARTIES, "all who hold files of this repository would hold", "they")


def _check(size: _Size, claim: Claim, times: int, who: str, they: str) -> None:
    would_be = _Size(size.claims, size.patterns, size.parts, size.characters)
    would_be.add(claim, 1)
    for count, most, what in (
        (would_be.patterns, MOST_PATTERNS, "patterns"),
        (would_be.parts, MOST_PARTS, "parts of patterns (between slashes)"),
        (would_be.characters, MOST_CHARACTERS, "characters of patterns"),
    ):
        if count > most * times:
            raise RefusedError(
                f"{who} {count} {what}, and {they} may hold {most * times}",
                "release some first (corral lease ls shows them), or hold a directory as a whole (src/)",
            )


def check_waits(party: str, waits: int, in_the_way: int) -> None:
    """`RefusedError` if a party that waits so often already cannot wait once more, with so much in the way of all."""
    if waits >= MOST_WAITS:
        raise RefusedError(
            f"{party} waits for leases and locks {MOST_WAITS} times, and may not wait once more",
            "let some of them come to an end first, or wait for several files at once",
        )
    if in_the_way > MOST_IN_THE_WAY:
        raise RefusedError(
            f"{in_the_way} leases and waits of others would be in the way of all that {party} waits for, "
            f"and at most {MOST_IN_THE_WAY} may be",
            "wait for less at once: for a directory, or for files by name",
        )
